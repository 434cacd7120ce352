const MOST_CHARACTERS = 1024

/**
 * Returns a path of the console's page that a sign-in may return to; `/` for everything else. Browsers read a backslash
 * as a slash and drop tabs and line breaks, so a path with any of them could name another host.
 */
export function returnPath(given: string | null | undefined): string {
  if (given == null || given.length > MOST_CHARACTERS || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(given)) return '/'
  const { pathname } = new URL(given, 'https://console.invalid')
  return /^\/(?:\/|(?:cloud|v1)(?:\/|$))/i.test(pathname) ? '/' : given
}
