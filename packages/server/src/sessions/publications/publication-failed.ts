import type { PublicationError } from '@berth/contract'
import { DeliveryFailed } from '../../delivery/failure.ts'
import type { Obstacle } from './publication.ts'

/** Thrown to end a Publication. */
export class PublicationFailed extends DeliveryFailed<PublicationError> {
  readonly obstacle: Obstacle | null

  constructor(code: PublicationError, { obstacle, cause }: { obstacle?: Obstacle; cause?: unknown } = {}) {
    super(code, cause)
    this.obstacle = obstacle ?? null
  }
}
