# SPDX-License-Identifier: MIT
# Makes C++ of src/postgres/sql: of the files that make the schema, in this order and as they are, and
# of the statements that the library sends, without their comments. And for those who install the schema
# by hand, the same as files for psql: schema.sql for the schema "mortise", and application.sql, which
# gives an application its rights.
set(folder "${PROJECT_SOURCE_DIR}/src/postgres/sql")
set(migration begin trust steps schema once_tables share_tables add_row take_row take release_row release renew cancel share
    guard expel force_release once_begin once_conclude once_forget rights trust)
set(statements look ask_key inspect check look_key renew_all greet session census list queue at_home)
# The statements that are made for all three.
set(statements_of_spaces list queue)
# The functions that are made more than once: for the names of locks, for the keys of Once, for semaphores.
set(spaces add_row take release_row release renew cancel share expel take_row)
set(spaces_of_keys add_row take_row release_row renew cancel expel)
set(spaces_of_semaphores add_row take release_row release cancel share expel)
set(clock_number "floor(extract(epoch FROM t) * 1000000)::bigint")
set(floor_of_keys "(SELECT max(number) FROM @schema@.run_floor)")
function(mortise_make_for result text lock ticket share of word shares gate floor first_number only_waits label_at reads)
    foreach(placeholder IN ITEMS lock ticket share of word shares gate floor first_number only_waits
                         label_at reads)
        string(REPLACE "@${placeholder}@" "${${placeholder}}" text "${text}")
    endforeach()
    set(${result} "${text}" PARENT_SCOPE)
endfunction()
function(mortise_make_for_locks result text)
    mortise_make_for(text "${text}" lock ticket share "" "" true false 0 "${clock_number}" false 2 w.reads)
    set(${result} "${text}" PARENT_SCOPE)
endfunction()
function(mortise_make_for_keys result text)
    mortise_make_for(text "${text}" run run_ticket share _run "key " false false "${floor_of_keys}"
                     "greatest(${clock_number}, ${floor_of_keys} + 1)" "(how & 17) = 17" 0 false)
    set(${result} "${text}" PARENT_SCOPE)
endfunction()
function(mortise_make_for_semaphores result text)
    mortise_make_for(text "${text}" gate gate_ticket gate_share _gate "permit " true true 0 "${clock_number}" false
                     10 w.reads)
    set(${result} "${text}" PARENT_SCOPE)
endfunction()

# In pieces: no compiler has to take more than 65,536 characters for one text.
set(definitions "namespace {\n\nconstexpr const char* pieces[] = {")
set(schema_file)
foreach(name IN LISTS migration)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/${name}.sql")
    file(READ "${folder}/${name}.sql" text)
    if(name IN_LIST spaces)
        string(REGEX REPLACE "(^|\n)--[^\n]*" "" again "${text}")
        mortise_make_for_locks(text "${text}")
        if(name IN_LIST spaces_of_keys)
            mortise_make_for_keys(keys "${again}")
            string(APPEND text "\n-- The same for the keys of Once: see once_tables.sql.${keys}")
        endif()
        if(name IN_LIST spaces_of_semaphores)
            mortise_make_for_semaphores(semaphores "${again}")
            string(APPEND text "\n-- The same for semaphores: see share_tables.sql.${semaphores}")
        endif()
    endif()
    string(APPEND definitions "\nR\"sql(${text}\n)sql\",")
    string(APPEND schema_file "${text}\n")
endforeach()
# What is ours in a schema that may have others: @tables@, @views@, @functions@, as the script itself makes them.
foreach(kind IN ITEMS TABLE VIEW FUNCTION)
    string(REGEX MATCHALL "CREATE (OR REPLACE )?${kind} (IF NOT EXISTS )?@schema@[.][a-z_]+" names "${schema_file}")
    list(TRANSFORM names REPLACE ".*[.](.+)" "'\\1'")
    list(REMOVE_DUPLICATES names)
    list(JOIN names ", " names)
    string(TOLOWER "@${kind}s@" placeholder)
    foreach(text IN ITEMS definitions schema_file)
        string(REPLACE "${placeholder}" "${names}" ${text} "${${text}}")
    endforeach()
endforeach()
# What role.sql grants: @granted_tables@ and @granted_functions@.
file(READ "${folder}/role.sql" granted)
foreach(kind IN ITEMS "SELECT ON:tables" "EXECUTE ON FUNCTION:functions")
    string(REGEX REPLACE ":.*" "" right "${kind}")
    string(REGEX REPLACE ".*:" "" kind "${kind}")
    string(REGEX MATCH "GRANT ${right} [^;]*" names "${granted}")
    string(REGEX MATCHALL "@schema@[.][a-z_]+" names "${names}")
    list(TRANSFORM names REPLACE ".*[.](.+)" "'\\1'")
    list(JOIN names ", " granted_${kind})
endforeach()
string(APPEND definitions "};\n\n}  // namespace\n\nconstinit const std::span<const char* const> migration(pieces);\n")
foreach(name IN ITEMS role ${statements})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/${name}.sql")
    file(READ "${folder}/${name}.sql" text)
    if(name IN_LIST statements)
        string(REGEX REPLACE "(^|\n)--[^\n]*" "\\1" text "${text}")
        string(REGEX REPLACE "\n+" "\n" text "${text}")
        string(STRIP "${text}" text)
        string(REPLACE "@granted_tables@" "${granted_tables}" text "${text}")
        string(REPLACE "@granted_functions@" "${granted_functions}" text "${text}")
    endif()
    if(name IN_LIST statements_of_spaces)
        mortise_make_for_keys(keys "${text}")
        mortise_make_for_semaphores(semaphores "${text}")
        mortise_make_for_locks(text "${text}")
        string(APPEND definitions "extern const char* const ${name}_run = R\"sql(${keys})sql\";\n")
        string(APPEND definitions "extern const char* const ${name}_gate = R\"sql(${semaphores})sql\";\n")
    endif()
    string(APPEND definitions "extern const char* const ${name} = R\"sql(${text})sql\";\n")
endforeach()
set(mortise_postgres_sql "${PROJECT_BINARY_DIR}/generated/postgres_sql.cpp")
file(CONFIGURE OUTPUT "${mortise_postgres_sql}" @ONLY CONTENT [[
// SPDX-License-Identifier: MIT
// Generated of src/postgres/sql: do not edit.
#include "postgres/sql.hpp"

namespace mortise::postgres::sql {

@definitions@
}  // namespace mortise::postgres::sql
]])

# A file is written only where it changes, so that nothing is built or installed anew for nothing.
set(mortise_postgres_files "${PROJECT_BINARY_DIR}/generated/postgresql")
string(REPLACE "@schema@" "mortise" schema_file "${schema_file}COMMIT;\n")
file(CONFIGURE OUTPUT "${mortise_postgres_files}/schema.sql" @ONLY CONTENT "@schema_file@")
file(READ "${folder}/role.sql" application)
string(REPLACE "@schema@" "mortise" application "${application}")
string(REPLACE "@role@" ":\"role\"" application "${application}")
file(CONFIGURE OUTPUT "${mortise_postgres_files}/application.sql" @ONLY CONTENT [[
-- SPDX-License-Identifier: MIT
-- The rights of an application. Run it behind schema.sql, as the same user: psql -v role=<its role>
@application@]])
