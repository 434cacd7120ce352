import { join } from 'node:path'

/**
 * The directories of a pod's host. Each but the first is a volume that another container sees as well, read-only, so
 * nothing that the sandbox does changes one.
 */
export interface PodPlaces {
  /** Seen by this container alone. */
  readonly dataDir: string
  /** The sandbox's `insidePaths.run`: the sockets of its proxy and of its part. */
  readonly line: string
  /** The same of the container that works at files. Another, so that the sandbox cannot pass for it. */
  readonly filesLine: string
  /** The sandbox's `insidePaths.platform`. */
  readonly platform: string
  /** Below it, everything that the sandbox is shown below `/opt`. */
  readonly shown: string
}

/** Returns the directories, which the pod's manifest mounts at these paths. */
export const podPlaces = (dataDir: string): PodPlaces => ({
  dataDir,
  line: join(dataDir, 'line'),
  filesLine: join(dataDir, 'files-line'),
  platform: join(dataDir, 'platform'),
  shown: join(dataDir, 'shown'),
})

/** Directories below `shown`, each a mount of its own. */
export const shownNames = {
  /** `insidePaths.extensions` */
  extensions: 'extensions',
  /** Its `objects` is `insidePaths.objects`; the mirrors lie beside it. */
  source: 'source',
  /** Holds the engine that `insidePaths.engine` links to. */
  engine: 'engine',
} as const

/** Where the image has the engine that came with it, as the link of a lease without its own names it. */
export const builtInEngine = '/opt/berth/built-in/engine.cjs'

/** Returns the directory of the objects of a mirror in a pod's host. */
export const podObjects =
  (dataDir: string) =>
  (id: string): string =>
    join(podPlaces(dataDir).shown, shownNames.source, 'mirrors', `${id}.git`, 'objects')
