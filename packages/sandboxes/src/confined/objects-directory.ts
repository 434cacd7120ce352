/** Returns the directory of a mirror's objects on this host. */
export type ObjectsOf = (id: string) => string

const ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/**
 * Returns the directory of the objects with an id.
 * @param objectsOf undefined if this host has no mirrors
 * @throws TypeError if the id could lead anywhere else
 */
export function objectsDirectory(objectsOf: ObjectsOf | undefined, id: string): string {
  if (!ID.test(id)) throw new TypeError(`not the id of objects: ${JSON.stringify(id)}`)
  if (objectsOf === undefined) throw new TypeError('this host has no mirrors')
  return objectsOf(id)
}
