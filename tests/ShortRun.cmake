# SPDX-License-Identifier: MIT
# What the short run leaves to the full one: ./dev test, and ./dev test rest. And what the run of one component
# (./dev test --only) leaves to the short run. Read by CMake, and by ctest as it starts.

# Besides these, the full run alone has the tests with the label `full` where they are made: the package and the
# examples (other builds), the drill of one of them, the headers and sources that compile alone, and the models beside the real servers.

# Test programs of which the short run has no test: it does not build them.
set(mortise_programs_of_full mortise_simulation_tests mortise_drill_tests)

# Regular expressions for whole names of tests. Over TLS, in a cluster, in an ensemble and in PostgreSQL's other modes
# the contract repeats its tests of the plain store. Other tests cover the differences (RemoteTls*, RedisTls*,
# RedisCluster* and Postgres* of the faults). The histories of an ensemble repeat those of one server. ZooKeeper and
# PostgreSQL are slow servers: the short run has the suites of the contract that these stores decide, and the faults that
# find most per second (mortise_slow_* below are the others). Ten thousand locks at once cost PostgreSQL and ZooKeeper a
# minute. The tests of test tools take long and find little: if a tool is wrong, the tests that use it fail as well.
set(mortise_tests_of_full
    "contract[.](postgres_fair|postgres_pooled|zookeeper_ensemble)[.]shard[0-9]+"
    "(contract|fault)[.](zookeeper|postgres)[.]slow[.]shard[0-9]+"
    "(Postgres[A-Za-z]*|ZooKeeper[A-Za-z]*)/Scale"
    "contract[.](redis_tls|redis_cluster|postgres_tls|zookeeper_tls)[.]shard[0-9]+"
    "ZooKeeperEnsemble/[A-Za-z]*Histories"
    "SupportOwnTime|ZooKeeperSupport|PostgresServerTest|CheckerSpeed|Broken[A-Za-z]*")

# The run of one component has 60 seconds, for the build as well. It leaves these tests to the short run (label
# `slow`): they take longest on a quiet machine, or need several servers or clients of other libraries.
set(mortise_slow_tests
    "PostgresErrors|Delays/PostgresSlowServer|PostgresLateCopy|PostgresStandby|PostgresRows|PostgresMemory"
    "PostgresDurability|PostgresPromotion|PostgresWaiting|At/PostgresConclusions"
    "RedisReplicas|RedisCluster(Strangers|Moves|Orders)|RedisSentinel(Lies|Tls)|RedisSlowLink|RedisShortage"
    "RedisReasons|RedisDirect/MinHold"
    "Postgres(Migration|NewNames|Sessions|Tickets|Connector|Clock|HostNames|Doubts|SharedListings|Names)"
    "(Postgres|Isolation|At)/Postgres(Guards|GuardsTogether|OtherStore|Confirmation)"
    "Redlock(Minority|Undo|Thaw|Moves|Validity|Memory)|RedlockNetwork/Outage")

# Single tests of processes that have many suites: they run together in processes of their own.

# In these suites of the contract the core and the runtime decide, whatever the store. The runs of the components core,
# memory and redis have them all.
set(mortise_contract_of_the_core Guards LockAll LockAllKept LostHold Observing Options Reentry StandardLocks
    StandardShared ThreadEnd)
# These compute for long, or wait for long, on each store.
set(mortise_slow_contract
    Asynchronous.CoroutinesOfOneThreadExcludeEachOther Cancelling.AStopRacesWithTheGrant
    Cancelling.ATimeOutRacesWithTheGrant Exclusion.ClientsWithoutTurnsNeverHoldTogether
    Exclusion.ThreadsOfOneClientNeverHoldTogether Keys.AreAsHostileAsNames Keys.FingerprintsAreAnyBytes
    Names.MayHoldEveryByte Names.ThatLookAlikeNeverShareALock
    Permits.ManyThreadsOfTwoClientsNeverHaveMoreThanThereAre Permits.EndNotWithTheThreadThatTookThem
    Runs.LostMessagesChangeNoOutcome Runs.WhoseReplyIsLostIsNotToldThatItLost
    Sharing.AThreadThatEndsLeavesItsPartToNobody Sharing.LostMessagesLeaveNoReaderBehind
    Sharing.ReadersThatJoinForEverLetAWriterIn Sharing.WritersThatComeForEverLetReadersIn
    Administering.PagesMissNoNameThatIsHeldThroughout AdministeringModes.NamesOfAnyBytesAreListedInEachMode
    Administering.ListsNamesOfAnyBytesByAnyPrefix)
list(TRANSFORM mortise_contract_of_the_core APPEND ".*")
foreach(store IN ITEMS ZooKeeper Postgres)
    string(TOLOWER "${store}" slow)
    set(slow "mortise_slow_${slow}_contract")
    set(${slow} ${mortise_contract_of_the_core} ${mortise_slow_contract})
    list(TRANSFORM ${slow} REPLACE "([a-z])$" "\\1/*")
    list(TRANSFORM ${slow} PREPEND "${store}/")
endforeach()
list(APPEND mortise_slow_zookeeper_contract
    "ZooKeeper/Closing.RacesWithMessagesUnderWay/*:ZooKeeper/ExactHold.ARenewalUnderWayDoesNotTakeTheNameBack/*"
    "ZooKeeper/Fencing.TokensGrowOverARestartOfTheServer/*:ZooKeeperDirect/Exclusion.*")
list(APPEND mortise_slow_postgres_contract
    "Postgres/Outage.IsOverWhenItIsOver/*:Postgres/Sharing.DoesNotTouchAReadersGuardThatIsElsewhere/*"
    "Postgres/MinHold.*")
set(mortise_slow_zookeeper_faults
    "ZooKeeperCrowd.*:ZooKeeper*/ZooKeeperOther*:ZooKeeperOther*:ZooKeeperQuorum.*:ZooKeeperCutOff.*:ZooKeeperTls.*"
    "ZooKeeperKeys.WhatIsOverGoesALittleWithEachRun:ZooKeeperRequests.OfAGrantAmongEightSessionsAreFive"
    "ZooKeeperKeys.ThoseWhoWaitAreWokenOnceWithTheResult:ZooKeeperKeys.AnOutcomeThatTheServerTakesNoPacketForIsGivenUp"
    "ZooKeeperCut/ZooKeeperSteps.*AndTheSessionEnds:ZooKeeperCut/ZooKeeperSteps.*WithoutParent"
    "ZooKeeperPulse.*OfManyHoldsInTurn:ZooKeeperPulse.RenewsAHundredHolds*:ZooKeeperRefusals.*:ZooKeeperSix.*"
    "ZooKeeperOutage.AProcessThatStoodStill*"
    "ZooKeeperContainers.*:ZooKeeperWithoutData.*:ZooKeeperSequence.*")

# Adds the labels `full` and `slow` to the list of labels in the variable `variable`, if the test is not in the short
# run, or not in the run of one component.
function(mortise_short_or_full name variable)
    list(FIND ${variable} long is_long) # ctest reads this without the policies of the project
    if(NOT is_long EQUAL -1)
        return()
    endif()
    set(labels ${${variable}})
    foreach(regex IN LISTS mortise_tests_of_full)
        if(name MATCHES "^(${regex})$")
            list(APPEND labels full)
        endif()
    endforeach()
    foreach(regex IN LISTS mortise_slow_tests)
        if(name MATCHES "^(${regex})$")
            list(APPEND labels slow)
        endif()
    endforeach()
    set(${variable} ${labels} PARENT_SCOPE)
endfunction()
