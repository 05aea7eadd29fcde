# SPDX-License-Identifier: MIT
# Makes the archive of the classes of a ZooKeeper. Without it servers take longer to start, and nothing else changes:
# a JVM that cannot make one is not an error.
execute_process(COMMAND "${java}" "@${arguments}" "-XX:ArchiveClassesAtExit=${archive}" ZooKeeperClasses
    RESULT_VARIABLE outcome OUTPUT_VARIABLE output ERROR_VARIABLE output TIMEOUT 120)
if(NOT outcome EQUAL 0)
    message(STATUS "No archive of ZooKeeper's classes: ${output}")
    file(REMOVE "${archive}")
endif()
file(TOUCH "${stamp}")
