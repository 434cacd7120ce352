/** A section that the search finds: a heading with the text below it, up to the next one. */
export interface SearchSection {
  readonly id: number
  readonly page: string
  readonly heading: string
  /** Place on the site, with the heading's anchor. */
  readonly place: string
  readonly text: string
}

/** Returns the sections of a page as the site shows it. @param html its article */
export function sectionsOf(html: string, page: string, place: string): Omit<SearchSection, 'id'>[] {
  const parts = html.split(/(?=<h[1-4] id=")/)
  return parts.flatMap(part => {
    const [whole = '', anchor = '', heading = ''] = /^<h[1-4] id="([^"]*)">([\s\S]*?)<\/h[1-4]>/.exec(part) ?? []
    const text = plain(part.slice(whole.length))
    const at = whole.startsWith('<h1') || whole === '' ? place : `${place}#${anchor}`
    return whole === '' && text === '' ? [] : [{ page, heading: plain(heading) || page, place: at, text }]
  })
}

/** Returns the text that a reader sees. */
export function plain(html: string): string {
  return html
    .replace(/<(?:\/(?:p|li|td|th|tr|pre|h\d)|br)[^>]*>/g, ' ')
    .replace(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&#x27;', "'")
    .replaceAll('&amp;', '&')
    .replace(/\s+/g, ' ')
    .trim()
}
