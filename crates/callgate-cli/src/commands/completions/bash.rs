//! Sources and syscalls in bash.

use clap::Command;

use super::words::{Kind, options, places, sources, syscalls};

/// A function around clap's, which completes positional sources and syscalls. Readline splits words at colons, so it
/// expects only what follows the last colon.
const FUNCTIONS: &str = r#"
_callgate_choose() {
    local word=$1 before=$2 match
    COMPREPLY=()
    while IFS= read -r match; do
        COMPREPLY+=("${match#"$before"}")
    done < <(compgen -W "$3" -- "$word")
}

_callgate_with_words() {
    local line=${COMP_LINE:0:COMP_POINT} word before= kind= inner= index=0 skip= command= one
    word=${line##*[[:space:]]}
    [[ $COMP_WORDBREAKS == *:* && $word == *:* ]] && before=${word%"${word##*:}"}
    local -a words
    read -ra words <<<"${line%"$word"}"
    for one in "${words[@]:1}"; do
        if [[ $skip ]]; then
            skip=
        elif [[ $one == -* ]]; then
            case $one in
                @VALUED@) skip=$one ;;
            esac
        elif [[ ! $command ]]; then
            command=$one
        else
            index=$((index + 1))
        fi
    done
    if [[ $skip ]]; then
        case $skip in
            @SOURCE@) kind=source ;;
            @SYSCALL@) kind=syscall ;;
        esac
    elif [[ $word != -* ]]; then
        case $command:$index in
@PLACES@
        esac
    fi
    case $kind in
        source)
            _callgate_choose "$word" "$before" "$inner $_callgate_sources"
            # A format waits for its name.
            [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace
            # Files, too. Readline would quote the colons of other sources as in names of files.
            if [[ $word != -* ]]; then
                [[ ${#COMPREPLY[@]} == 0 ]] && compopt -o filenames
                while IFS= read -r one; do COMPREPLY+=("$one"); done < <(compgen -f -- "${word#"$before"}")
            fi
            ;;
        syscall) _callgate_choose "$word" "$before" "$_callgate_syscalls" ;;
        *) _callgate "$@" ;;
    esac
}
complete -F _callgate_with_words -o bashdefault -o default callgate
"#;

/// What follows clap's script.
pub(super) fn addition(root: &Command) -> String {
    let options = options(root);
    let list = |of: &dyn Fn(Kind) -> bool| {
        let words: Vec<&str> =
            options.iter().filter(|(_, kind)| of(*kind)).map(|(word, _)| word.as_str()).collect();
        if words.is_empty() { "--".to_owned() } else { words.join("|") }
    };
    let mut lines = Vec::new();
    for place in places(root) {
        let last = place.kinds.len() - 1;
        for (at, kind) in place.kinds.iter().enumerate() {
            let index = if at == last { "*".to_owned() } else { at.to_string() };
            let name = match kind {
                Kind::Source => "source",
                Kind::Syscall => "syscall",
                Kind::Other => "",
            };
            let command = &place.command;
            if at == 0 && !place.inner.is_empty() {
                let inner = place.inner.join(" ");
                lines.push(format!("            {command}:0) kind={name} inner='{inner}' ;;"));
            }
            lines.push(format!("            {command}:{index}) kind={name} ;;"));
        }
    }
    let functions = FUNCTIONS
        .replace("@VALUED@", &list(&|_| true))
        .replace("@SOURCE@", &list(&|kind| kind == Kind::Source))
        .replace("@SYSCALL@", &list(&|kind| kind == Kind::Syscall))
        .replace("@PLACES@", &lines.join("\n"));
    format!(
        "\n_callgate_sources='{}'\n_callgate_syscalls='{}'\n{functions}",
        sources().join(" "),
        syscalls().join(" ")
    )
}
