function __commands_of_cliff
    set -l line (commandline -opc)
    set -l typed cmds (string match -v -- '-*' $line[2..-1] | string replace -a - _)
    while set -q typed[1]
        if string match -rgq "^\s*"(string join _ $typed)"='(?<found>.*)'" <~/.cache/cliff/$line[1]
            string split -- ' ' $found
            return
        end
        set -e typed[-1]
    end
end
complete -c openstack -f -a '(__commands_of_cliff)'
complete -c blazar -f -a '(__commands_of_cliff)'
