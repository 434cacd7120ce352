/** The path of a request target, without its query. */
export function pathOf(url: string): string {
  const end = url.search(/[?#]/)
  return end === -1 ? url : url.slice(0, end)
}

/** The query of a request target, without its question mark. */
export function queryOf(url: string): string {
  const start = url.indexOf('?')
  return start === -1 ? '' : url.slice(start + 1)
}

function decodes(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** Google's paths name a model within one segment; its clients leave the slashes of an id as they are. */
const modelPath = /^(\/v1beta\/models\/)([^?#]+)(?=:\w+(?:[?#]|$))/

/**
 * The target as the router takes it: without the origin a proxy may have left on it, with the slashes of a model's id
 * escaped, and with each path segment that does not decode escaped as it stands. The router would refuse the whole
 * target for it; this way the segment meets the same checks as any other id that is none.
 */
export function routableTarget(target: string): string {
  const url = target
    .replace(/^https?:\/\/[^/?#]*/i, '')
    .replace(modelPath, (_, models: string, id: string) => models + id.replaceAll('/', '%2F'))
  const path = pathOf(url)
  if (!path.includes('%') || decodes(path)) return url
  const segments = path.split('/').map(segment => (decodes(segment) ? segment : segment.replaceAll('%', '%25')))
  return segments.join('/') + url.slice(path.length)
}

/** Whether a path belongs to the API, where even an unknown one asks for a bearer first. */
export const isApiPath = (path: string): boolean => /^\/v1(?:beta)?(?:\/|$)/.test(path)
