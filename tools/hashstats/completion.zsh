#compdef hashstats
# SPDX-License-Identifier: GPL-2.0
# Completion of hashstats(1) for zsh.

# The names of the tables in the file that the line names, or of this machine.
_hashstats_tables()
{
	local at=${_hashstats_line[(I)(-f|--file)]} file=/proc/hashstats
	((at)) && file=${(Q)_hashstats_line[at + 1]}
	[[ -f $file && -r $file ]] || return 1
	local -aU tables
	tables=(${(f)"$(sed -n 's/^name: \([A-Za-z0-9_.-]*\)$/\1/p' $file)"})
	compadd -a tables
}

_hashstats_commands()
{
	local -a commands
	commands=(
		'show:one line per table'
		'hist:chain lengths as bars, beside those of a random function'
		'chain:the objects of the longest chains, by their keys'
		'watch:a view that is refreshed, with changes'
		'diff:what changed between two copies'
		'copy:the text that -f reads'
		'json:all figures, for programs'
		'openmetrics:metrics for Prometheus'
		'advise:sizes for the next boot'
		'record:sample for a while into a file'
		'report:worst moments and heat maps of a recording'
		'on:count lookups and wakeups'
		'off:stop counting'
		'reset:set the counts to 0'
		'demo:the commands on samples, without root'
		'help:the options of a command'
	)
	_describe command commands
}

_hashstats()
{
	local -a options _hashstats_line
	local command=show at=2 named=
	_hashstats_line=($words)
	options=(
		'*'{-f,--file}'[read this copy]:copy of /proc/hashstats:_files'
		'--source[what to read]:source:(auto proc kcore)'
		'--core[read this crash dump]:dump:_files'
		'--kallsyms[symbols of the kernel of the dump]:symbols:_files'
		'--check[exit with status 1 if a table is crowded or skewed]'
		{-q,--quiet}'[print nothing except errors]'
		'(- *)'{-h,--help}'[show options]'
	)
	# These options may stand before the command.
	while ((at < CURRENT)); do
		case $words[at] in
		-f|--file|--source|--core|--kallsyms) ((at += 2)) ;;
		--check|-q|--quiet) ((at++)) ;;
		show|hist|chain|watch|diff|copy|json|openmetrics|advise|record|report|on|off|reset|demo|help)
			command=$words[at] named=1
			words[at]=()
			((CURRENT--))
			break ;;
		*) break ;;
		esac
	done
	case $command in
	show)
		options+=('--all[show idle tables as well]'
			'--sort[order of the tables]:column:(verdict table buckets bytes objects load long nodes)'
			{-j,--json}'[for programs]') ;;
	hist)
		options+=('--log[logarithmic bars]' '--png[draw a picture]:picture:_files') ;;
	chain)
		options+=('--longest[so many chains]:chains:' '--all[each object of a chain]'
			'--no-names[print no paths]' {-j,--json}'[for programs]') ;;
	watch)
		options+=('--all[show idle tables as well]'
			{-n,--interval}'[time between two readings]:seconds:'
			'--count[leave after so many views]:views:') ;;
	diff)
		options+=('--all[each line of all tables]') ;;
	json)
		options+=('--compact[in one line]') ;;
	openmetrics)
		options+=({-o,--output}'[replace this file]:file:_files'
			'--classic[the older text format]') ;;
	advise)
		options+=('--target[nodes per lookup]:nodes:'
			'--budget[for all tables together]:bytes or percent:'
			'--memory[memory of the machine of a copy]:bytes:'
			'--shrink[advise smaller tables too]'
			'--all[show idle tables as well]'
			{-j,--json}'[for programs]'
			'--apply-grub[show a file for GRUB]' '--yes[write it]'
			'--grub-file[another place for it]:file:_files') ;;
	record)
		options+=({-n,--interval}'[time between two readings]:seconds:'
			{-t,--time}'[how long]:seconds:'
			{-o,--output}'[where to keep the samples]:recording:_files'
			'--all[show idle tables as well]'
			'--png[draw a picture too]:picture:_files') ;;
	report)
		options+=('--all[show idle tables as well]'
			'--png[draw a picture too]:picture:_files') ;;
	esac
	case $command in
	help) _hashstats_commands ;;
	# They read no file.
	on|off|reset|demo) _arguments ${options[7,-1]} ;;
	copy) _arguments $options ;;
	diff) _arguments $options '1:before:_files' '2:after:_files' '*:table:_hashstats_tables' ;;
	*)
		if [[ -n $named ]]; then
			_arguments $options '*:table:_hashstats_tables'
		elif [[ $PREFIX == -* ]]; then
			_arguments $options '(- *)'{-V,--version}'[show the version]'
		else
			_arguments $options '1:command or table:->first' '*:table:_hashstats_tables' && return
			[[ $state == first ]] && { _hashstats_commands; _hashstats_tables; }
		fi ;;
	esac
}

_hashstats "$@"
