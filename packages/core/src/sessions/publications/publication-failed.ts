import type { PublicationError } from '@berth/contract'
import type { Obstacle } from './publication.ts'

/** Thrown to end a Publication; its row shows this code. */
export class PublicationFailed extends Error {
  override readonly name = 'PublicationFailed'
  readonly code: PublicationError
  readonly obstacle: Obstacle | null

  constructor(code: PublicationError, { obstacle, cause }: { obstacle?: Obstacle; cause?: unknown } = {}) {
    super(code, { cause })
    this.code = code
    this.obstacle = obstacle ?? null
  }
}
