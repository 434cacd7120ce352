/** Returns true if `If-None-Match` names the tag, by weak comparison (RFC 9110, 13.1.2). */
export function namesTag(header: string | string[] | undefined, etag: string): boolean {
  const tags = (typeof header === 'string' ? header : '').split(',').map(tag => tag.trim().replace(/^W\//, ''))
  return tags.includes(etag) || tags.includes('*')
}
