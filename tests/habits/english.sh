#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: pages and comments are written in plain English. CONTRIBUTING.md explains the patterns below.
# Method: count each pattern in the prose of pages and in the comments of C++, Lua and SQL. Code is left out. Pages
# and public headers may have 2 hits per 1,000 words; every other folder has its limit in english.txt.
# Usage: english.sh <root>            check the tree
#        english.sh <root> --write    lower the limits in english.txt to today's counts
#        english.sh --list <file>...  print each hit and the rate per file
set -euo pipefail
export LC_ALL=C
program=$(cat <<'PERL'
use strict;
use warnings;
my ($mode, $table) = (shift, shift);

# Nouns and verbs after which *where* means a place.
my $place = join '|', qw(
    address branch call case cases catalog clock cluster column country database directory disk document file files
    folder folders here heap host layer level line lines list log machine machines memory module moment node page
    pages part path place places point points port position process queue region row schema section server servers
    inbox say says said shop site source step store system systems table thread tree
    exactly see know knows known show shows find finds learn learns name names decide decides remember remembers
    with from to about on of is was matter);
my $speaker = '\.md|error|message|page|pages|table|text|section|document|label|header|title|comment|documentation|CODE|\x02';
my $start = qr/(?:\A|[.!?:]["')*_]*\s|\n[ ]*\n|^[ ]*(?:[-*]|\d+\.)[ ]|[|])\s*(?:\*\*|\(|_)?/m;
my @patterns = (
    [1, qr/$start\K(?:Who(?:ever|m)?|What(?:ever)?|Which(?:ever)?)\b/],
    [1, qr/\b(?:whoever|whomever|whosever)\b/],
    [1, qr/(?:;|,\s(?:and|but|or|so)|\b(?:so\sthat|that|if|when|because|for|by|of|than|to|from|with|as|those|one|ones|others|only|all|and|but))\s\Kwho\b/],
    [1, qr/(?:;|:|,\s(?:and|but|or|so)|\b(?:so\sthat|that|because|for|by|of|than|as))\s\Kwhat\s(?:is|was|are|were|has|had|have|can|cannot|could|must|may|does|did|comes|came|goes|stands|waits|it|a|an|the|no|one|others)\b/],
    [3, qr/$start\KWhere(?:ver)?\b/],
    [3, qr/(?<![\w-])(?<!any)(?<!every)(?<!else)where\b/],
    [4, qr/\b(?:some|no|every|any)body\b/i],
    [5, qr/\b(?:tell|tells|told|telling|said|saying|hear|hears|heard|hearing)\b/i],
    [5, qr/\bsays?\b/i],
    [8, qr/\balso\s(?:if|where|when|while|though)\b/i],
    [8, qr/[,;:(]\s?(?:and\s)?\Kalso\s(?:a|by|in|for|of|with|after|before|on|at|from|to|between)\b/i],
    [8, qr/,\s\Ktoo\b(?=\s*[,.;:)|])/],
);

# Blank what is no prose; the lines stay where they are.
sub blank { my $text = shift; $text =~ s/[^\n]/ /g; return $text }

# The words of a link may be the name of a page: "What a lock cannot do".
sub link_text { my $text = shift; $text =~ s/\A\s*(?:Who|What|Which|Where)\b/_/i; return "$text\x02" }
# So may the bold words that open a paragraph.
sub bold_text { my $text = shift; return $text =~ /\A..(?:Who|What|Which|Where)\b/ ? blank($text) : $text }

sub prose_of_page {
    my $text = shift;
    $text =~ s/^(\h*(?:>\h*)?(```+|~~~+).*?^\h*(?:>\h*)?\2`*\h*$)/blank($1)/gmse;
    $text =~ s/(<!--.*?-->)/blank($1)/gse;
    $text =~ s/(?<!`)(`+)(?!`)((?:(?!\n\h*\n).)+?)(?<!`)\1(?!`)/"CODE" . join('', $2 =~ m{\n}g)/gse;
    $text =~ s/^\h*\[[^\]\n]+\]:\h.*$//gm;                 # the target of a link, below the text
    $text =~ s/!?\[([^\[\]]*)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)/link_text($1)/ge;
    $text =~ s/<[a-zA-Z\/][^>]*>/ /g;
    $text =~ s{\bhttps?://\S+}{ }g;
    $text =~ s/^(\h*\|.*)(?=\n\h*\|[-: |]+\|\h*$)/blank($1)/gme; # the heads of a table
    $text =~ s/^(#+\h.*)$/blank($1)/gme;
    $text =~ s/^(\h*(?:[-*]|\d+\.)?\h*)(\*\*[^*\n]+\*\*)/$1 . bold_text($2)/gme;
    $text =~ s/^\h*>\h?//gm;
    return $text;
}

sub comments_of {
    my ($text, $prose) = (shift, '');
    while ($text =~ m{
            (\bR"(\w*)\(.*?\)\2" | "(?:[^"\\\n]|\\.)*" | (?<=[0-9a-fA-F])'(?=[0-9a-fA-F]) | '(?:[^'\\\n]|\\.)+')
          | //[/!]?<?([^\n]*)
          | /\*(.*?)\*/
          | (\n(?:\h*\n)*)
          | [^"'/\nR]+ | . }gsx) {
        my ($code, $line, $block, $ends) = ($1, $3, $4, $5);
        if (defined $line) {
            $line = '' if $line =~ /SPDX|NOLINT|clang-format|^\h*\[\/?\w+\]\h*$/;
            $prose .= $line;
            $prose .= "\x01" if substr($text, pos($text), 80) !~ m{\A\n\h*//}; # the end of this comment
        } elsif (defined $ends) {
            $prose .= $ends;
        } else {
            $prose .= "\n" x (($code // $block // '') =~ tr/\n//);
        }
    }
    return prose_of_comments($prose);
}

# A comment ends before a line with code; the mark becomes a full stop.
sub dashed { my ($code, $comment) = @_; return ($code =~ /\S/ || !defined $comment ? "\x01" : '') . ($comment // '') }
# Lua's and SQL's, which begin with two dashes.
sub comments_after_dashes {
    my $prose = shift;
    $prose =~ s/^((?:[^'"\n-]|-(?!-)|'[^'\n]*'|"[^"\n]*")*)(?:--(.*))?$/dashed($1, $2)/gme;
    return prose_of_comments($prose);
}

sub prose_of_comments {
    my $prose = shift;
    $prose =~ s/(?<=[^.!?:;\x01\n ])\x01/./g;
    $prose =~ tr/\x01/ /;
    $prose =~ s/(\@code.*?\@endcode|```.*?```)/blank($1)/gse;
    $prose =~ s/^(\h*)Promise: .*$/$1/gm;
    $prose =~ s/\@(?:return|throws \S+|param \S+|note|brief|see|since|tparam \S+)|\@\w+/./g;
    $prose =~ s/`[^`\n]*`/CODE/g;
    $prose =~ s{\bhttps?://\S+}{ }g;
    return $prose;
}

sub hits_in {
    my $text = shift;
    my @hits;
    for my $pattern (@patterns) {
        my ($number, $expression) = @$pattern;
        while ($text =~ /$expression/g) {
            my ($at, $match) = ($-[0], $&);
            my $before = substr($text, $at > 60 ? $at - 60 : 0, $at > 60 ? 60 : $at);
            my ($rest) = substr($text, $at, 400) =~ /\A(.*?(?:[.!?](?=[\s"')*]|\z)|\n\h*\n|\z))/s;
            next if $number != 4 && $number != 8 && $rest =~ /\?\z/;          # a question
            next if $number == 3 && $match =~ /^w/ && $before =~ /\b(?:$place)[*_)]*\s+\z/i;
            next if $number == 3 && $match =~ /^w/ && $before =~ /(?:\A|[.|]|\n[ ]*\n)\s*\z/; # "///< where it lies"
            # In the cell of a table: "the URL; what an error means".
            next if $before =~ /;\s\z/ && $match =~ /^w/ && substr($text, 1 + rindex($text, "\n", $at), 9) =~ /^\h*\|/;
            next if $number == 1 && $before =~ /\b(?:who|which|what|how|whether)\b[^.!?]*\b(?:and|or|but)\s\z/;
            next if $number == 5 && $match =~ /^says?$/i && $before =~ /(?:\b|(?=\.))(?:$speaker)[*_)]*\s+\z/;
            next if grep { $_->[1] == $at } @hits;
            my $line = 1 + (substr($text, 0, $at) =~ tr/\n//);
            (my $shown = substr($before, -30) . "[$match]" . substr($text, $at + length $match, 45)) =~ s/[\s\x01\x02]+/ /g;
            push @hits, [$line, $at, $number, $shown];
        }
    }
    return sort { $a->[1] <=> $b->[1] } @hits;
}

sub read_file {
    my $path = shift;
    open my $handle, '<', $path or die "$path: $!\n";
    local $/;
    return <$handle> // '';
}

sub measured { # (words, hits) of a file
    my $path = shift;
    my $text = read_file($path);
    $text = $path =~ /\.md$/ ? prose_of_page($text)
        : $path =~ /\.(?:lua|sql)$/ ? comments_after_dashes($text) : comments_of($text);
    my @hits = hits_in($text);
    my $words = () = $text =~ /(?<![\w-])[A-Za-z][A-Za-z'-]*/g;
    return ($words, @hits);
}

sub allowed { my $words = shift; my $limit = int(2 * $words / 1000); return $limit > 1 ? $limit : 1 }

chomp(my @files = <STDIN>);
my (%limit, %count);
if ($mode ne 'list') {
    for (split /\n/, read_file($table)) { $limit{$1} = $2 if /^(\S+)\s+(\d+)$/ && !/^#/ }
}
my ($bad, @written) = (0);
for my $path (@files) {
    my ($words, @hits) = measured($path);
    my $most = allowed($words);
    my $lines = join '', map { "$path:$_->[0]: pattern $_->[2]: $_->[3]\n" } @hits;
    if ($mode eq 'list') {
        printf "%s%s: %d hits in %d words, %.1f per 1,000 (allowed: %d)%s\n", $lines, $path, scalar @hits, $words,
            $words ? 1000 * @hits / $words : 0, $most, @hits > $most ? ' TOO MANY' : '';
        next;
    }
    my $folder = $path;
    $folder =~ s{/[^/]*$}{} while !exists $limit{$folder} && $folder =~ m{/};
    if (exists $limit{$folder} && $path !~ /\.md$/) {
        $count{$folder} += @hits;
    } elsif (@hits > $most) {
        print $lines, "$path: ", scalar @hits, " hits in $words words, at most $most (see CONTRIBUTING.md)\n";
        $bad = 1;
    }
}
for my $folder (sort keys %limit) {
    my ($most, $now) = ($limit{$folder}, $count{$folder} // 0);
    if ($now > $most) {
        print "$folder: $now hits in its comments, at most $most by $table; see english.sh --list\n";
        $bad = 1;
    } elsif ($mode eq 'write') {
        $limit{$folder} = $now;
    } elsif ($now < $most - 5 - $most / 50) {
        print "$folder: $now hits in its comments, $table allows $most: run english.sh . --write\n";
        $bad = 1;
    }
}
if ($mode eq 'write') {
    my $text = read_file($table);
    $text =~ s/^(\S+)(\s+)\d+$/"$1$2$limit{$1}"/gme;
    open my $handle, '>', $table or die "$table: $!\n";
    print $handle $text;
}
exit $bad;
PERL
)

if [ "$1" = --list ]; then
    shift
    printf '%s\n' "$@" | perl -e "$program" list -
    exit
fi
cd "$1"
mode=check
[ "${2:-}" != --write ] || mode='write'
{
    find . -maxdepth 1 -name '*.md' -printf '%P\n'
    find docs examples packaging include src tests bench tool \
        \( -name '*.md' -o -name '*.[ch]pp' -o -name '*.lua' -o -name '*.sql' \) \
        -not -path tests/PROMISES.md 2>/dev/null || true
} | sort | perl -e "$program" "$mode" tests/habits/english.txt
