import { changesNames, scratchPath } from '@berth/sandboxes/lease-program.ts'

/** Prints the paths of standard input that no path of the list covers; fails if the list is not whole. */
const uncovered = String.raw`
  $/ = "\0"; my %covers; my $last = "";
  open my $list, "<", $ARGV[0] or exit 1;
  while (<$list>) { chomp; $covers{$_} = 1; $last = $_ }
  exit 1 if $last ne "/end";
  PATH: while (<STDIN>) {
    chomp;
    for (my $at = $_;; $at = substr $at, 0, rindex $at, "/") {
      next PATH if $covers{$at};
      last if index($at, "/") < 0;
    }
    print "$_\0";
  }`

/**
 * Has git take files as unchanged that the project's lower layers show and nothing covers, if these layers are a checkout
 * of the base. Else, or if a directory was renamed, every file is compared.
 *
 * A file behind a filter is marked in the same way for another reason, so then every file is compared too.
 */
export const lowerFiles = `
if [ -n "\${${changesNames.commit}-}" ] && [ ! -s ${scratchPath}/set-apart ] &&
  [ "$(git rev-parse -q --verify "$${changesNames.commit}^{tree}" || :)" = "$base" ] &&
  grep -zv '^160000 ' ${scratchPath}/before | sed -z 's/^[^\\t]*\\t//' |
    perl -e '${uncovered}' ${scratchPath}/${changesNames.list} > ${scratchPath}/as-lower; then
  git update-index -z --assume-unchanged --stdin < ${scratchPath}/as-lower
fi
`
