# SPDX-License-Identifier: GPL-2.0
# Completion of hashstats(1) for bash; needs nothing of bash-completion. Where
# nothing of ours fits, the names of files are offered.

# Names of the tables in the file that the line names, or of this machine.
_hashstats_tables()
{
	local file=/proc/hashstats i
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-f | --file) file=${COMP_WORDS[i + 1]} ;;
		esac
	done
	[[ -f $file && -r $file ]] || return
	sed -n 's/^name: \([A-Za-z0-9_.-]*\)$/\1/p' "$file" | sort -u
}

_hashstats()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	local commands="show hist watch diff json openmetrics advise record report"
	local words="-f --file --check -h --help" command=show

	COMPREPLY=()
	case $before in
	-f | --file | --png | -o | --output | --grub-file) return ;;
	-n | --interval | -t | --time | --count | --target | --budget | --memory)
		return ;;
	esac
	# Only the first word is a subcommand; without one, show is meant.
	if ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} != -* ]]; then
		command=${COMP_WORDS[1]}
	fi
	case $command in
	hist) words+=" --log --png" ;;
	watch) words+=" -n --interval --count" ;;
	json) words+=" --compact" ;;
	openmetrics) words+=" -o --output --classic" ;;
	advise) words+=" --target --budget --memory --json --apply-grub --yes"
		words+=" --grub-file" ;;
	record) words+=" -n --interval -t --time -o --output --png" ;;
	report) words+=" --png" ;;
	esac
	if ((COMP_CWORD == 1)); then
		words+=" --version $commands"
	elif [[ $word != -* ]]; then
		# Two files, and no table.
		[[ $command == diff ]] && return
		words=$(_hashstats_tables)
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o default -F _hashstats hashstats
