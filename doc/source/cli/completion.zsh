_commands_of_cliff() {
  local -a typed=(cmds ${words[2,CURRENT-1]:#-*}) found
  while (( $#typed && ! $#found )); do
    found=(${(M)${(f)"$(<~/.cache/cliff/$words[1])"}:#*${(j:_:)${typed//-/_}}=\'*})
    typed[-1]=()
  done
  compadd -- ${=${${found[1]#*\'}%\'*}}
}
compdef _commands_of_cliff openstack blazar
