import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { FileHandle } from 'node:fs/promises'
import { arch } from 'node:process'
import { systemPath } from './run-program.ts'

/** An overlay in a tree, whose changes can be listed. */
export interface UpperLayer {
  /** Its upper directory: names in it are an agent's. */
  readonly directory: string
  /** Where the overlay shows in the tree; empty for the whole tree. */
  readonly at: string
  /** A directory for lists, which no sandbox sees. */
  readonly scratch: string
  /** The commit that its lower layers are a checkout of. */
  readonly commit?: string
}

/** With more changes, a list saves nothing. */
const MOST_PATHS = 20_000
/** The number of `lgetxattr`. */
const calls: Readonly<Record<string, number>> = { x64: 192, arm64: 9 }

/**
 * Only root may read the overlay's attributes, and Node reads none. The program makes the layer its root, so a link that an
 * agent puts in place of a directory leads nowhere else. It ends without the last record if a directory was renamed: what
 * is in it shows at another path than the lower layers have it at.
 */
const program = String.raw`
use strict;
my ($layer, $call, $most) = @ARGV;
chdir $layer and chroot '.' or exit;
my ($count, $out, @left) = (0, '', '');
sub has {
  my ($path, $name, $value) = ($_[0], "trusted.overlay.$_[1]\0", ' ' x 16);
  return 0 if syscall($call + 0, $path, $name, $value, 16) < 0 and $!{ENODATA};
  return 1;
}
while (defined(my $directory = shift @left)) {
  opendir my $names, $directory eq '' ? '.' : $directory or exit;
  while (defined(my $entry = readdir $names)) {
    next if $entry eq '.' or $entry eq '..';
    exit if ++$count > $most;
    my $child = $directory eq '' ? $entry : "$directory/$entry";
    if (!lstat $child) { exit if !$!{ENOENT} }
    elsif (-d _) {
      exit if has($child, 'redirect');
      push @left, $child;
      $child .= '/' if !has($child, 'opaque');
    }
    $out .= "$child\0";
  }
}
print "$out/end\0";
`

/**
 * Lists the paths that an upper layer holds, each with a zero behind it, and `/end` as the last. Without that the list tells
 * nothing. A directory that shows content of lower layers has a slash at its end.
 * @returns once the list is written, and never rejects
 */
export async function listUpperLayer(layer: UpperLayer, list: FileHandle): Promise<void> {
  const args = ['-e', program, layer.directory, String(calls[arch] ?? -1), String(MOST_PATHS)]
  const env = { PATH: systemPath, LC_ALL: 'C' }
  const perl = spawn('perl', args, { env, cwd: '/', stdio: ['ignore', list.fd, 'ignore'] })
  await once(perl, 'close').catch(() => undefined)
}
