/** A section of the documentation. */
interface DocsSection {
  readonly heading: string
  readonly page: string
  /** Place on the site, with the heading's anchor. */
  readonly place: string
}

type Find = (text: string) => readonly DocsSection[]

/** The search of the documentation's site, which belongs to the same build. */
const siteSearch = '/docs/find.js'

/** More results than this do not help to find the page. */
const most = 6

let reading: Promise<Find> | null = null

/** Returns the sections of the documentation that a text is about; the first call reads all of them. */
export async function findInDocs(text: string): Promise<readonly DocsSection[]> {
  reading ??= read().catch(error => {
    reading = null
    throw error
  })
  return (await reading)(text).slice(0, most)
}

async function read(): Promise<Find> {
  const [{ find, indexOf }, response] = await Promise.all([
    import(/* @vite-ignore */ siteSearch),
    fetch('/docs/search.json'),
  ])
  if (!response.ok) throw new Error(`the search index answers ${response.status}`)
  const index = indexOf(await response.json())
  return text => find(index, text)
}
