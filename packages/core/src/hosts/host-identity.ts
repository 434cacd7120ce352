import type { KnownPod } from './pod-host-sql.ts'

/** Judges hosts that prove themselves with a token which somebody else has issued. */
export interface HostIdentity {
  /**
   * @throws LineRefused if the token is not one of a host of this service; any other error if that cannot be told now, so that the
   *   host dials again
   */
  judge(token: string, signal: AbortSignal): Promise<KnownPod>
}

/** Returns whether a token has the form of a JSON Web Token, as those of Kubernetes have and those of this service do not. */
export const isForeignToken = (token: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)
