# SPDX-License-Identifier: GPL-2.0
#
# One user's script of the multi-user load: begins in an empty directory, writes
# a program and a letter, compiles, edits, formats and spells them, and leaves
# the directory empty. Each result is checked; a wrong one ends the script.
#
# The shape of SPEC SDM's script, as the kernel hash table report of CITI used it
# in 2000; cc is what /usr/bin/cc is.
#
# shellcheck shell=sh
set -e

wrong()
{
	echo "user.sh: $1 gave '$2', expected '$3'" >&2
	exit 1
}

mkdir src doc
cat > src/primes.h <<'END'
#define LIMIT 100

int count_primes(char *composite, int limit);
END
cat > src/primes.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "primes.h"

int count_primes(char *composite, int limit)
{
	int i, j, primes = 0;

	for (i = 2; i <= limit; i++) {
		if (composite[i])
			continue;
		primes++;
		for (j = 2 * i; j <= limit; j += i)
			composite[j] = 1;
	}
	return primes;
}

int main(void)
{
	char composite[LIMIT + 1];

	memset(composite, 0, sizeof(composite));
	printf("%d\n", count_primes(composite, LIMIT));
	return EXIT_SUCCESS;
}
END
cat > doc/letter <<'END'
The program counts the prime numbers up to a hundred. It crosses out all
multpiles of each number that is left; what remains at the end is prime, as
nothing smaller divides it. The limit is a constatn of the header.
END
cat > doc/primes.1 <<'END'
.TH PRIMES 1 "1 January 2000"
.SH NAME
primes \- count the prime numbers up to a hundred
.SH SYNOPSIS
.B primes
.SH DESCRIPTION
.I primes
crosses out all multiples of each number that is left, and prints how many
numbers remain.
.SH DIAGNOSTICS
There are none.
END

ed -s src/primes.h <<'END'
/LIMIT 100/s/100/1000/
w
q
END
ed -s doc/letter <<'END'
g/hundred/s//thousand/
/multpiles/s//multiples/
w
q
END
ed -s doc/primes.1 <<'END'
g/hundred/s//thousand/
w
q
END

cc -o src/primes src/primes.c
primes=$(src/primes)
[ "$primes" = 168 ] || wrong primes "$primes" 168

nroff -man doc/primes.1 > doc/page
page=$(grep -c 'up to a thousand' doc/page) || :
[ "$page" = 1 ] || wrong nroff "$page" 1

words=$(spell doc/letter)
[ "$words" = constatn ] || wrong spell "$words" constatn

mkdir copy
cp -r src doc copy
# shellcheck disable=SC2010 # ls is part of the load
files=$(ls -R | grep -c primes)
[ "$files" = 8 ] || wrong ls "$files" 8
rm -r src doc copy
