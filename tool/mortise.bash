# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of mortise(1) for bash.

_mortise() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]} i options
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W \
            'run once holder queue list watch look forget release check migrate --help --version' -- "$word")
        return
    fi
    # After "--" comes another program, with its own completion.
    if [ "$verb" = run ] || [ "$verb" = once ]; then
        for ((i = 2; i < COMP_CWORD; ++i)); do
            if [ "${COMP_WORDS[i]}" = -- ]; then
                if declare -F _command_offset >/dev/null; then
                    _command_offset $((i + 1))
                else
                    mapfile -t COMPREPLY < <(compgen -c -- "$word")
                fi
                return
            fi
        done
    fi
    case $before in
        --wait | --lease | --min-hold | --keep | --answer | --every)
            mapfile -t COMPREPLY < <(compgen -W '500ms 1s 10s 1m 10m 1h 1d' -- "$word")
            return
            ;;
        --url-file)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        --label | --fingerprint | --token | --role | --schema | --url) return ;;
    esac
    case $verb in
        run) options='--wait --try --lease --label --min-hold --shared --escaped' ;;
        once) options='--keep --fingerprint --wait --lease --label --escaped' ;;
        holder | look) options='--json --escaped --answer' ;;
        queue | list) options='--locks --semaphores --keys --json --escaped --answer' ;;
        watch) options='--locks --semaphores --keys --every --once --json --escaped --answer' ;;
        forget) options='--escaped --answer' ;;
        release) options='--force --token --semaphores --keys --escaped --answer' ;;
        check) options='--json --answer' ;;
        migrate) options='--role --schema --print' ;;
        *) return ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options --url --url-file --help" -- "$word")
    fi
}
complete -F _mortise mortise
