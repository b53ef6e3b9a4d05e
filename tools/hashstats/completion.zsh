#compdef hashstats
# SPDX-License-Identifier: GPL-2.0
# Completion of hashstats(1) for zsh.

# Names of the tables in the file that the line names, or of this machine.
_hashstats_tables()
{
	local at=${words[(I)(-f|--file)]} file=/proc/hashstats
	((at)) && file=${(Q)words[at + 1]}
	[[ -f $file && -r $file ]] || return 1
	local -aU tables
	tables=(${(f)"$(sed -n 's/^name: \([A-Za-z0-9_.-]*\)$/\1/p' $file)"})
	compadd -a tables
}

_hashstats()
{
	local -a commands options
	commands=(
		'show:one line a table'
		'hist:chain lengths beside what chance would give'
		'watch:refreshed view with changes'
		'diff:what changed between two copies'
		'json:everything for programs'
		'openmetrics:metrics for Prometheus'
		'advise:sizes for the next boot'
		'record:sample for a while'
		'report:peaks and heat maps of a recording'
	)
	options=(
		'*'{-f,--file}'[read this copy]:copy of /proc/hashstats:_files'
		'--check[status 1 if a table is crowded or skewed]'
		'(- *)'{-h,--help}'[show options]'
	)
	if ((CURRENT == 2)); then
		_describe command commands
		[[ $PREFIX == -* ]] && _arguments $options '(- *)--version[show version]'
		return
	fi
	local command=show
	if [[ $words[2] != -* ]]; then
		command=$words[2]
		shift words
		((CURRENT--))
	fi
	case $command in
	hist)
		options+=('--log[logarithmic bars]' '--png[draw a picture]:picture:_files') ;;
	watch)
		options+=({-n,--interval}'[time between two readings]:seconds:'
			'--count[leave after so many views]:views:') ;;
	json)
		options+=('--compact[in one line]') ;;
	openmetrics)
		options+=({-o,--output}'[write this file]:file:_files'
			'--classic[the older text format]') ;;
	advise)
		options+=('--target[nodes that a lookup may examine]:nodes:'
			'--budget[for all tables together]:bytes or percent:'
			'--memory[memory of the machine of a copy]:bytes:'
			'--json[for programs]'
			'--apply-grub[show a file for grub]' '--yes[write it]'
			'--grub-file[another place for it]:file:_files') ;;
	record)
		options+=({-n,--interval}'[time between two readings]:seconds:'
			{-t,--time}'[how long]:seconds:'
			{-o,--output}'[keep the samples]:recording:_files'
			'--png[draw a picture too]:picture:_files') ;;
	report)
		options+=('--png[draw a picture too]:picture:_files') ;;
	esac
	if [[ $command == diff ]]; then
		_arguments $options '1:before:_files' '2:after:_files'
	else
		_arguments $options '*:table:_hashstats_tables'
	fi
}

_hashstats "$@"
