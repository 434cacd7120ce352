/**
 * Returns a relative path that stays below where it begins, unless links lead it out.
 * @throws TypeError for any other
 */
export function assertPathBelow(path: string): string {
  const isBelow = typeof path === 'string' && !path.includes('\0')
  if (!isBelow || path.split('/').some(part => part === '' || part === '.' || part === '..')) {
    throw new TypeError(`not a path below a directory: ${JSON.stringify(path)}`)
  }
  return path
}
