import { spawn } from 'node:child_process'
import { arch } from 'node:process'
import { text } from 'node:stream/consumers'
import { systemPath } from './run-program.ts'

/** A mount of several trees as one. All paths but the layers' are relative to the directory that the call names. */
export interface OverlayMount {
  /** The trees below, topmost first, which never change: absolute paths. */
  readonly layers: readonly string[]
  /** An empty directory. */
  readonly target: string
  /** Options of overlayfs but the layers. */
  readonly options: string
}

/** A directory of this host that shows somewhere else, read-only. */
export interface ReadOnlyBind {
  /** An absolute path. */
  readonly source: string
  /** An empty directory, relative to the one that the call names. */
  readonly target: string
}

/** Holds a directory for each layer, where the layer is bound while its overlay is mounted. It must exist. */
export const boundLayers = 'host/lower'

/** Maps owners in a lower tree: content of `onDisk` shows as `shown`'s, and so do the users after it. */
export interface OwnerMap {
  readonly onDisk: number
  readonly shown: number
  /** How many users are mapped; by default one. */
  readonly count?: number
}

/** This kernel or its file systems cannot mount an overlay over a tree whose owner is mapped. */
export class OverlayError extends Error {
  override readonly name = 'OverlayError'
}

/** Numbers of `mount`, `umount2` and `unshare`; the newer calls have one number on all architectures. */
const calls: Readonly<Record<string, readonly [number, number, number]>> = { x64: [165, 166, 272], arm64: [40, 39, 97] }

/**
 * Neither Node nor util-linux before 2.39 can map the owners of a mount, and Perl belongs to every Debian. Each layer
 * is bound with its owners mapped, the overlay takes copies of these mounts, and the binds go again. A bind is
 * read-only: if a crash leaves it, nobody can damage the layer through it. What follows `--` is executed at the end.
 *
 * A mount without layers is a bind. It has its flags before it appears, because a mount takes the flags that it has to
 * the namespaces of sandboxes, and later changes of them stay here.
 */
const program = String.raw`
use strict;
my ($mount, $umount, $unshare, $disk, $shown, $count, $binds, @mounts) = @ARGV;
sub check { my ($name, $result) = @_; die "$name: $!\n" if $result < 0; $result }
pipe(my $made, my $making); pipe(my $wait, my $done);
my $holder = fork // die "fork: $!\n";
if (!$holder) {
  close $done;
  exit 1 if syscall($unshare + 0, 0x10000000) < 0;
  syswrite $making, 'x'; sysread $wait, my $end, 1; exit 0;
}
close $making;
sysread($made, my $byte, 1) or die "unshare: this host cannot make user namespaces\n";
for my $file ('uid_map', 'gid_map') {
  open my $map, '>', "/proc/$holder/$file" or die "$file: $!\n";
  defined syswrite $map, "$disk $shown $count" or die "$file: $!\n";
}
open my $namespace, '<', "/proc/$holder/ns/user" or die "namespace: $!\n";
my ($empty, $type) = ('', 'overlay');
while (@mounts && $mounts[0] ne '--') {
  my ($target, $options, $layers) = splice @mounts, 0, 3;
  if (!$layers) {
    my $tree = check('open_tree', syscall(428, -100, $options, 0x80001));
    my $attributes = pack 'QQQQ', 7, 0, 0, 0;
    check('mount_setattr', syscall(442, $tree, $empty, 0x1000, $attributes, 32));
    check('move_mount', syscall(429, $tree, $empty, -100, $target, 4));
    next;
  }
  my @bound;
  for my $lower (splice @mounts, 0, $layers) {
    my $tree = check('open_tree', syscall(428, -100, $lower, 0x80001));
    my $attributes = pack 'QQQQ', 0x100001, 0, 0, fileno $namespace;
    check('mount_setattr', syscall(442, $tree, $empty, 0x1000, $attributes, 32));
    my $bind = "$binds/" . @bound;
    mkdir $bind, 0700;
    check('move_mount', syscall(429, $tree, $empty, -100, $bind, 4));
    push @bound, $bind;
  }
  $options = 'lowerdir=' . join(':', @bound) . ",$options";
  my $result = syscall($mount + 0, $type, $target, $type, 6, $options);
  my $reason = $!;
  check('umount', syscall($umount + 0, $_, 2)) for @bound;
  $! = $reason;
  check('overlay', $result);
}
shift @mounts;
if (@mounts) { exec { $mounts[0] } @mounts or die "exec: $!\n" }
`

/**
 * Returns the words of a command that mounts overlays and binds, `nosuid` and `nodev`, in its own mount namespace. Paths are
 * relative to its working directory.
 * @param then words of the command that it becomes
 * @throws OverlayError
 */
export function overlayCommand(
  owners: OwnerMap,
  mounts: readonly (OverlayMount | ReadOnlyBind)[],
  then: readonly string[] = [],
): readonly [string, ...string[]] {
  const numbers = calls[arch]
  if (numbers === undefined) throw new OverlayError(`the numbers of system calls on ${arch} are not known`)
  const operands = [...numbers, owners.onDisk, owners.shown, owners.count ?? 1, boundLayers].map(String)
  const each = mounts.flatMap(mount =>
    'source' in mount
      ? [mount.target, mount.source, '0']
      : [mount.target, mount.options, String(mount.layers.length), ...mount.layers],
  )
  return ['perl', '-e', program, ...operands, ...each, '--', ...then]
}

/**
 * Mounts overlays and binds in this process's mount namespace, as `overlayCommand` does. After a failure some of them may stand;
 * `unmountBelow` removes them.
 * @param directory absolute; other paths are relative to it, so that no character in it confuses the options
 * @throws OverlayError
 */
export async function mountOverlays(
  directory: string,
  owners: OwnerMap,
  mounts: readonly (OverlayMount | ReadOnlyBind)[],
): Promise<void> {
  const [perl, ...args] = overlayCommand(owners, mounts)
  const child = spawn(perl, args, {
    env: { PATH: systemPath, LC_ALL: 'C' },
    cwd: directory,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const { promise, resolve, reject } = Promise.withResolvers<number | null>()
  child.on('error', reject)
  child.on('close', resolve)
  try {
    const [code, errors] = await Promise.all([promise, text(child.stderr)])
    if (code !== 0) throw new OverlayError(errors.trim() || `perl exited with ${code}`)
  } catch (error) {
    if (error instanceof OverlayError) throw error
    throw new OverlayError('perl could not be started', { cause: error })
  }
}
