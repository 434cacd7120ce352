import type { PrepareOrder } from '@berth/supervisor'

/** The parts of a pod that dial its host: the container of the sandbox, and the one that works at its files. */
export const partNames = ['agent', 'files'] as const
export type PartName = (typeof partNames)[number]

/** The first value on a part's socket. What it is dialled for is a line, whose calls the part answers. */
export interface PartHello {
  readonly part: PartName
  /** Made by the part's process, and known to nobody else: it tells that process from all others of its container. */
  readonly key: string
}

/** Longest such value. */
export const MAX_HELLO_BYTES = 1024

/** Name of the socket that parts dial, in the directory that each of them sees as `insidePaths.run`. */
export const partSocketName = 'part.sock'

/** Ways of a pod's lines: they never leave its machine. */
export const partBounds = { pingMs: 30_000, pongMs: 30_000 }

/** What starts the sandbox's first command. */
export interface StartOrder {
  readonly command: readonly string[]
  readonly fileSizeBytes: number
  /** Whether the sandbox is shown nothing that a command which stands already would have had to see when it began. */
  readonly isPlain: boolean
}

/** The order for a command and its agent that start before the pod has its lease. */
export interface ReadyOrder extends Omit<StartOrder, 'isPlain'> {
  /** The agent, which takes its directory from its session and holds no secret. */
  readonly agent: PrepareOrder
}

export const isPartName = (value: unknown): value is PartName => partNames.includes(value as PartName)
