import type { Instance } from '../linux/instance.ts'

/** File of a data directory for which podman has made containers. */
export const containersMark = 'containers'

/** Returns the name of the container that was made as a blank of this name. It keeps it as a lease. */
export const containerName = (instance: Instance, blank: string): string => `${instance.tag}.${blank}`

/** Returns the blank's name of a container; undefined if it is not one of the instance. */
export function blankOf(instance: Instance, container: string): string | undefined {
  const prefix = `${instance.tag}.`
  return container.startsWith(prefix) ? container.slice(prefix.length) : undefined
}
