# SPDX-License-Identifier: GPL-2.0
# Completion of hashstats(1) for bash; does not need bash-completion. Where no
# word of ours fits, bash offers file names.

# The names of the tables in the file that the line names, or of this machine.
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
	local commands="show hist chain watch diff copy json openmetrics advise record report"
	local words="-q --quiet -h --help" command="" i
	commands+=" on off reset demo help"

	COMPREPLY=()
	# These options may stand before the command.
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-f | --file | --source | --core | --kallsyms) ((i++)) ;;
		--check | -q | --quiet) ;;
		*)
			[[ " $commands " == *" ${COMP_WORDS[i]} "* ]] &&
				command=${COMP_WORDS[i]}
			break
			;;
		esac
	done
	case $before in
	-f | --file | --core | --kallsyms | --png | -o | --output | --grub-file) return ;;
	-n | --interval | -t | --time | --count | --target | --budget | --memory)
		return ;;
	--source) words="auto proc kcore" ;;
	--sort) words="verdict table buckets bytes objects load long nodes" ;;
	*)
		case $command in
		"" | show) words+=" --all --sort -j --json" ;;
		hist) words+=" --log --png" ;;
		chain) words+=" --longest --all --no-names -j --json" ;;
		watch) words+=" --all -n --interval --count" ;;
		diff) words+=" --all" ;;
		json) words+=" --compact" ;;
		openmetrics) words+=" -o --output --classic" ;;
		advise) words+=" --target --budget --memory --shrink --all -j --json"
			words+=" --apply-grub --yes --grub-file" ;;
		record) words+=" -n --interval -t --time -o --output --all --png" ;;
		report) words+=" --all --png" ;;
		esac
		case $command in
		on | off | reset | demo) ;;
		help) words=$commands ;;
		*) words+=" --check -f --file --source --core --kallsyms" ;;
		esac
		((COMP_CWORD == 1)) && words+=" -V --version"
		if [[ $word != -* ]]; then
			case $command in
			"") words="$commands $(_hashstats_tables)" ;;
			# The first two words are files.
			diff | copy | on | off | reset | demo) return ;;
			help) ;;
			*) words=$(_hashstats_tables) ;;
			esac
		fi
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o default -F _hashstats hashstats
