# SPDX-License-Identifier: MIT
# Completion of mortise(1) for fish.

set -l durations '500ms 1s 10s 1m 10m 1h 1d'
set -l asks 'holder queue list watch look forget release check'

# __mortise_in <command>...: whether one of them is being completed, and not the program after "--".
function __mortise_in
    set -l words (commandline -opc)
    contains -- "$words[2]" $argv; and not __mortise_at_program
end

function __mortise_at_command
    set -l words (commandline -opc)
    test (count $words) -eq 1
end

# Whether the program of run or once is being completed: it follows "--".
function __mortise_at_program
    set -l words (commandline -opc)
    contains -- "$words[2]" run once; and contains -- -- $words
end

function __mortise_complete_program
    set -l words (commandline -opc) (commandline -ct)
    set -l dashes (contains -i -- -- $words)
    complete -C (string join ' ' -- $words[(math $dashes + 1)..-1])
end

complete -c mortise -f
complete -c mortise -n __mortise_at_command -a run -d 'run a program while holding a lock'
complete -c mortise -n __mortise_at_command -a once -d 'run a program once, and remember its output'
complete -c mortise -n __mortise_at_command -a holder -d 'print who holds a lock'
complete -c mortise -n __mortise_at_command -a queue -d 'print who holds a name, and who waits for it'
complete -c mortise -n __mortise_at_command -a list -d 'print the names that are held'
complete -c mortise -n __mortise_at_command -a watch -d 'show all holds in a table that updates'
complete -c mortise -n __mortise_at_command -a look -d 'print what the store remembers of a key'
complete -c mortise -n __mortise_at_command -a forget -d 'forget a key, so that its program runs again'
complete -c mortise -n __mortise_at_command -a release -d 'end a hold by force'
complete -c mortise -n __mortise_at_command -a check -d 'test whether locks can be taken'
complete -c mortise -n __mortise_at_command -a migrate -d 'create or update the schema of PostgreSQL'
complete -c mortise -n __mortise_at_command -l version -d 'print the version'
complete -c mortise -n 'not __mortise_at_program' -l help -d 'print the options'

complete -c mortise -n "__mortise_in run once $asks migrate" -l url -x -d 'the URL of the store; other users see it in ps'
complete -c mortise -n "__mortise_in run once $asks migrate" -l url-file -r -F -d 'a file that contains the URL of the store'
complete -c mortise -n "__mortise_in $asks" -l answer -x -a "$durations" -d 'wait this long for the answer of the store'
complete -c mortise -n '__mortise_in run once holder queue list watch look forget release' -l escaped -d 'the name is written with \xNN and \\\\'
complete -c mortise -n '__mortise_in holder queue list watch look check' -l json -d 'print JSON'
complete -c mortise -n '__mortise_in queue list watch' -l locks -d 'locks'
complete -c mortise -n '__mortise_in queue list watch' -l semaphores -d 'semaphores'
complete -c mortise -n '__mortise_in queue list watch' -l keys -d 'keys that run now'

complete -c mortise -n '__mortise_in run once' -l wait -x -a "$durations" -d 'wait at most this long'
complete -c mortise -n '__mortise_in run once' -l lease -x -a "$durations" -d 'the store frees it this long after a crash'
complete -c mortise -n '__mortise_in run once' -l label -x -d 'the name that others see'
complete -c mortise -n '__mortise_in run' -l try -d 'do not wait for the lock'
complete -c mortise -n '__mortise_in run' -l min-hold -x -a "$durations" -d 'keep the lock at least this long'
complete -c mortise -n '__mortise_in run' -l shared -d 'hold it as one of many readers'
complete -c mortise -n '__mortise_in once' -l keep -x -a "$durations" -d 'remember the output this long'
complete -c mortise -n '__mortise_in once' -l fingerprint -x -d 'refuse a call with the same key and a different text'
complete -c mortise -n __mortise_at_program -x -a '(__mortise_complete_program)'

complete -c mortise -n '__mortise_in watch' -l every -x -a "$durations" -d 'the time between two updates'
complete -c mortise -n '__mortise_in watch' -l once -d 'print one table'
complete -c mortise -n '__mortise_in release' -l force -d 'required: the holder may still be working'
complete -c mortise -n '__mortise_in release' -l token -x -d 'end only the hold with this token'
complete -c mortise -n '__mortise_in release' -l semaphores -d 'the name is a semaphore'
complete -c mortise -n '__mortise_in release' -l keys -d 'the name is a key'
complete -c mortise -n '__mortise_in migrate' -l role -x -d 'grant this role what an application needs'
complete -c mortise -n '__mortise_in migrate' -l schema -x -d 'the name of the schema'
complete -c mortise -n '__mortise_in migrate' -l print -d 'print the SQL, and do not run it'
