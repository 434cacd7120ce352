import { chown, mkdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { directoryTree, type TreeTools } from '../../confined/directory-tree.ts'
import type { Tree } from '../../tree.ts'

/** Mounts in a namespace of its own, which goes with the program: nothing is left to unmount, however it ends. */
const mounting = ['unshare', '--mount', '--propagation', 'slave', '--', 'sh', '-ec']
/**
 * Options of the overlay in which a layer is written. The layer holds whole files and no redirects, so it means the same
 * below any other overlay.
 */
const options = 'nosuid,nodev,redirect_dir=off,metacopy=off,xino=off,index=off,upperdir=workspace,workdir=work'

/** A directory in which a layer is written. */
interface LayerAbove {
  /** Shows the layer over those below. */
  readonly path: string
  /** Words of a command that mounts it, and becomes the command that follows. Absent: nothing is below. */
  readonly launcher?: readonly string[]
  /** Removes everything but the layer, once the command has ended. */
  readonly clear: () => Promise<void>
}

/**
 * Makes a new directory `workspace` in an empty one, to be written as the layer above others.
 * @param layers topmost first
 */
export async function makeLayer(
  directory: string,
  layers: readonly string[],
  uid: number | undefined,
): Promise<LayerAbove> {
  const workspace = join(directory, 'workspace')
  await mkdir(workspace, { mode: 0o755 })
  if (uid !== undefined) await chown(workspace, uid, uid)
  if (layers.length === 0) return { path: workspace, clear: async () => undefined }
  // The paths in the options are relative, so that no character in the host's paths confuses them.
  const names = layers.map((_, index) => `layer${index}`)
  for (const [index, layer] of layers.entries()) await symlink(layer, join(directory, `layer${index}`))
  for (const name of ['work', 'merged']) await mkdir(join(directory, name), { mode: 0o700 })
  const mount = `cd "$1"; mount -i -t overlay -o "lowerdir=$2,$3" overlay merged; cd /; shift 3; exec "$@"`
  return {
    path: join(directory, 'merged'),
    launcher: [...mounting, mount, 'sh', directory, names.join(':'), options],
    clear: async () => {
      for (const name of ['work', 'merged', ...names]) await rm(join(directory, name), { recursive: true, force: true })
    },
  }
}

/** Returns a layer to be written as a tree, for one program. */
export async function layerTree(
  tools: TreeTools,
  uid: number,
  { directory, layers, baselines }: { directory: string; layers: readonly string[]; baselines: string },
): Promise<Tree> {
  const { clear, ...place } = await makeLayer(directory, layers, uid)
  const tree = directoryTree(tools, { ...place, uid }, baselines)
  return {
    ...tree,
    async run(...program) {
      const run = await tree.run(...program)
      return { ...run, ended: run.ended.finally(clear) }
    },
  }
}
