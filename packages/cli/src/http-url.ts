/** Returns true for an http or https URL. */
export function isHttpUrl(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:')
}

/** Returns true if two URLs name one deployment: the same origin, and the same path before the API's. */
export function isSameDeployment(a: string, b: string): boolean {
  return normal(a) === normal(b)
}

const normal = (text: string): string => {
  const url = URL.parse(text)
  return url === null ? text : `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}
