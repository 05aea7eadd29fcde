# SPDX-License-Identifier: MIT
# What the short run leaves to the full one: ./dev test, and ./dev test rest. Read by CMake, and by ctest as it starts.

# Besides these, the full run alone has the tests with the label `full` where they are made: the package and the
# examples (other builds), the drill of one of them, the headers and sources that compile alone, and the models beside the real servers.

# Test programs of which the short run has no test: it does not build them.
set(mortise_programs_of_full mortise_simulation_tests mortise_drill_tests)

# Regular expressions for whole names of tests. Over TLS, in a cluster and in PostgreSQL's other modes the contract
# repeats what it says of the same store without; what is special there has tests of its own (RemoteTls*, RedisTls*,
# RedisCluster* and Postgres* of the faults). So do the histories of an ensemble, but for those with readers. Ten
# thousand locks at once cost PostgreSQL and ZooKeeper a minute. The tests of what only tests use take long for what
# they find: the tests that use it are red as well.
set(mortise_tests_of_full
    "contract[.](postgres_fair|postgres_pooled)[.]shard[12]"
    "(Postgres[A-Za-z]*|ZooKeeper[A-Za-z]*)/Scale"
    "contract[.](redis_tls|redis_cluster|postgres_tls|zookeeper_tls)[.]shard[0-9]+"
    "ZooKeeperEnsemble/Histories"
    "SupportOwnTime|ZooKeeperSupport|PostgresServerTest|CheckerSpeed|Broken[A-Za-z]*")

# Adds the label `full` to the list of labels in the variable `variable`, if the test is not in the short run.
function(mortise_short_or_full name variable)
    list(FIND ${variable} long is_long) # ctest reads this without the policies of the project
    foreach(regex IN LISTS mortise_tests_of_full)
        if(name MATCHES "^(${regex})$" AND is_long EQUAL -1)
            set(${variable} ${${variable}} full PARENT_SCOPE)
            return()
        endif()
    endforeach()
endfunction()
