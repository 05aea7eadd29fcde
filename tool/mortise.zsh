#compdef mortise
# SPDX-License-Identifier: MIT
# Completion of mortise(1) for zsh.

_mortise_duration() {
    compadd 500ms 1s 10s 1m 10m 1h 1d
}

# After "--" comes another program, with its own completion.
_mortise_program() {
    local dashes=${words[(i)--]}
    ((dashes < CURRENT)) || return 1
    shift $dashes words
    ((CURRENT -= dashes))
    if ((CURRENT == 1)); then
        _command_names -e
    else
        _normal
    fi
}

_mortise() {
    local curcontext=$curcontext state line
    local -a verbs store answer kinds hold program
    local -A opt_args
    verbs=(
        'run:run a program while holding a lock'
        'once:run a program once, and remember its output'
        'holder:print who holds a lock'
        'queue:print who holds a name, and who waits for it'
        'list:print the names that are held'
        'watch:show all holds in a table that updates'
        'look:print what the store remembers of a key'
        'forget:forget a key, so that its program runs again'
        'release:end a hold by force'
        'check:test whether locks can be taken'
        'migrate:create or update the schema of PostgreSQL'
    )
    store=(
        '(--url-file)--url[the URL of the store; other users see it in ps]:URL:'
        '(--url)--url-file[a file that contains the URL of the store]:file:_files'
        '(- *)--help[print the options and an example]'
    )
    answer=('--answer[wait this long for the answer of the store]:duration:_mortise_duration')
    kinds=(
        '--locks[locks]'
        '--semaphores[semaphores]'
        '--keys[keys that run now]'
    )
    hold=(
        '--wait[wait at most this long]:duration:_mortise_duration'
        '--lease[the store frees it this long after a crash]:duration:_mortise_duration'
        '--label[the name that others see]:label:'
        '--escaped[the name is written with \\xNN and \\\\]'
    )
    program=('*::program:_mortise_program')

    _arguments -C \
        '(- *)--help[print the commands]' '(- *)--version[print the version]' \
        '1:command:->command' '*::argument:->argument' && return
    case $state in
        command) _describe command verbs ;;
        argument)
            case $words[1] in
                run)
                    _arguments -S $store $hold '(--wait)--try[do not wait for the lock]' \
                        '--min-hold[keep the lock at least this long]:duration:_mortise_duration' \
                        '--shared[hold it as one of many readers]' \
                        '1:name:' $program
                    ;;
                once)
                    _arguments -S $store $hold \
                        '--keep[remember the output this long]:duration:_mortise_duration' \
                        '--fingerprint[refuse a call with the same key and a different text]:text:' \
                        '1:key:' $program
                    ;;
                holder)
                    _arguments $store $answer '--json[print JSON]' \
                        '--escaped[the name is written with \\xNN and \\\\]' '1:name:'
                    ;;
                queue | list)
                    _arguments $store $answer $kinds '--json[print JSON]' \
                        '--escaped[the name is written with \\xNN and \\\\]' '1:name:'
                    ;;
                watch)
                    _arguments $store $answer $kinds '--json[print JSON]' \
                        '--every[the time between two updates]:duration:_mortise_duration' \
                        '--once[print one table]' \
                        '--escaped[the prefix is written with \\xNN and \\\\]' '1:prefix:'
                    ;;
                look)
                    _arguments $store $answer '--json[print JSON]' \
                        '--escaped[the key is written with \\xNN and \\\\]' '1:key:'
                    ;;
                forget)
                    _arguments $store $answer '--escaped[the key is written with \\xNN and \\\\]' \
                        '1:key:'
                    ;;
                release)
                    _arguments $store $answer '--force[required: the holder may still be working]' \
                        '--token[end only the hold with this token]:token:' \
                        '(--keys)--semaphores[the name is a semaphore]' \
                        '(--semaphores)--keys[the name is a key]' \
                        '--escaped[the name is written with \\xNN and \\\\]' '1:name:'
                    ;;
                check) _arguments $store $answer '--json[print JSON]' ;;
                migrate)
                    _arguments $store '--role[grant this role what an application needs]:role:' \
                        '--schema[the name of the schema]:schema:' \
                        '--print[print the SQL, and do not run it]'
                    ;;
            esac
            ;;
    esac
}

_mortise "$@"
