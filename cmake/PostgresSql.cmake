# SPDX-License-Identifier: MIT
# Makes C++ of src/postgres/sql: of the files that make the schema, in this order and as they are, and
# of the statements that the library sends, without their comments. And for those who install the schema
# by hand, the same as files for psql: schema.sql for the schema "mortise", and application.sql, which
# gives an application its rights.
set(folder "${PROJECT_SOURCE_DIR}/src/postgres/sql")
set(migration begin trust steps schema once_tables take_row take release_row release renew cancel guard force_release
    once_begin once_conclude once_forget rights trust)
set(statements look peek ask ask_key inspect look_key renew_all greet session census)
# The functions that are made twice: for the names of locks, and for the keys of Once.
set(spaces take_row release_row renew cancel)
set(clock_number "floor(extract(epoch FROM t) * 1000000)::bigint")
set(floor_of_keys "(SELECT max(number) FROM @schema@.run_floor)")
function(mortise_make_for result text lock ticket of seed floor first_number only_waits)
    foreach(placeholder IN ITEMS lock ticket of seed floor first_number only_waits)
        string(REPLACE "@${placeholder}@" "${${placeholder}}" text "${text}")
    endforeach()
    set(${result} "${text}" PARENT_SCOPE)
endfunction()

set(definitions "extern const char* const migration =")
set(schema_file)
foreach(name IN LISTS migration)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/${name}.sql")
    file(READ "${folder}/${name}.sql" text)
    if(name IN_LIST spaces)
        string(REGEX REPLACE "(^|\n)--[^\n]*" "" second "${text}")
        mortise_make_for(text "${text}" lock ticket "" 7077 0 "${clock_number}" false)
        mortise_make_for(second "${second}" run run_ticket _run 7078 "${floor_of_keys}"
                         "greatest(${clock_number}, ${floor_of_keys} + 1)" "(how & 9) = 9")
        string(APPEND text "\n-- The same for the keys of Once: see once_tables.sql.${second}")
    endif()
    string(APPEND definitions "\nR\"sql(${text}\n)sql\"")
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
string(APPEND definitions ";\n")
foreach(name IN ITEMS role ${statements})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/${name}.sql")
    file(READ "${folder}/${name}.sql" text)
    if(name IN_LIST statements)
        string(REGEX REPLACE "(^|\n)--[^\n]*" "\\1" text "${text}")
        string(REGEX REPLACE "\n+" "\n" text "${text}")
        string(STRIP "${text}" text)
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
