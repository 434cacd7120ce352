import type { RepositoryRef } from '../git-host.ts'
import type { GitHubCalls, Parameters } from './github-calls.ts'
import { isHidden } from './github-checks.ts'

/** One read of GitHub, and the name of its answer. */
export interface Seen {
  readonly route: string
  readonly parameters: Parameters
  /** `hidden`: there was nothing that the App may read. Null: GitHub gave the answer no name. */
  readonly etag: string | null
}

/** Most items that GitHub gives at once. */
const PAGE = 100
/** Most pages of what is read whole. */
const ALL_PAGES = 5
/** The latest pages of a list that may have any length. */
const LATEST_PAGES = 3
const HIDDEN = 'hidden'
const MAX_CURSOR = 16_384

/** Reads parts of GitHub one after the other, and remembers which answers it got. */
export class ObservedReads {
  readonly seen: Seen[] = []
  readonly #calls: GitHubCalls
  readonly #repository: RepositoryRef
  readonly #signal: AbortSignal | undefined

  constructor(calls: GitHubCalls, repository: RepositoryRef, signal: AbortSignal | undefined) {
    this.#calls = calls
    this.#repository = repository
    this.#signal = signal
  }

  /** Reads one part; `route` is what follows the repository's address. */
  async read<Body>(route: string, parameters: Parameters = {}): Promise<Body> {
    return (await this.#answer<Body>(route, parameters)).body
  }

  /** Reads one part; null if there is none, or the App may not read it. */
  async readIfShown<Body>(route: string, parameters: Parameters = {}): Promise<Body | null> {
    try {
      return await this.read<Body>(route, parameters)
    } catch (error) {
      if (!isHidden(error)) throw error
      this.seen.push({ route, parameters, etag: HIDDEN })
      return null
    }
  }

  /** Reads a list from its beginning, at most 500 items; null if the App may not read it. */
  async readList<Body, Item>(
    route: string,
    parameters: Parameters,
    itemsOf: (body: Body) => readonly Item[],
  ): Promise<readonly Item[] | null> {
    const items: Item[] = []
    for (let page = 1; page <= ALL_PAGES; page++) {
      const body = await this.readIfShown<Body>(route, { ...parameters, per_page: PAGE, page })
      if (body === null) return page === 1 ? null : items
      items.push(...itemsOf(body))
      if (itemsOf(body).length < PAGE) break
    }
    return items
  }

  /** Reads the end of a list that begins with its oldest item: at least the latest 200 items, and no more than 300. */
  async readLatest<Item>(route: string): Promise<readonly Item[]> {
    let kept: { readonly items: readonly Item[]; readonly seen: Seen }[] = []
    let page = 1
    for (let reads = 0; reads <= 2 * LATEST_PAGES; reads++) {
      const parameters = { per_page: PAGE, page }
      const { body, etag, link } = await this.#fetch<Item[]>(route, parameters)
      kept = [...kept, { items: body, seen: { route, parameters, etag } }].slice(-LATEST_PAGES)
      if (body.length < PAGE) break
      const first = lastPage(link) - LATEST_PAGES + 1
      if (first > page + 1) {
        page = first
        kept = []
      } else page += 1
    }
    this.seen.push(...kept.map(({ seen }) => seen))
    return kept.flatMap(({ items }) => items)
  }

  /** Returns true if all that was seen would be answered as before. */
  async areUnchanged(before: readonly Seen[]): Promise<boolean> {
    const [first, ...others] = before
    if (first === undefined || !(await this.#isUnchanged(first))) return false
    return (await Promise.all(others.map(each => this.#isUnchanged(each)))).every(same => same)
  }

  async #isUnchanged({ route, parameters, etag }: Seen): Promise<boolean> {
    if (etag === null) return false
    const { account, repositoryId } = this.#repository
    const path = `GET /repositories/${repositoryId}/${route}`
    try {
      const condition = etag === HIDDEN ? null : etag
      return (await this.#calls.readUnless(account, path, parameters, condition, this.#signal)) === null
    } catch (error) {
      if (isHidden(error)) return etag === HIDDEN
      throw error
    }
  }

  async #answer<Body>(route: string, parameters: Parameters) {
    const answer = await this.#fetch<Body>(route, parameters)
    this.seen.push({ route, parameters, etag: answer.etag })
    return answer
  }

  async #fetch<Body>(route: string, parameters: Parameters) {
    const { account, repositoryId } = this.#repository
    const path = `GET /repositories/${repositoryId}/${route}`
    const answer = await this.#calls.readUnless<Body>(account, path, parameters, null, this.#signal)
    if (answer === null) throw new Error('an answer without a condition was not modified')
    return { ...answer, etag: usable(answer.etag) }
  }
}

/** Returns the number of the last page that a `Link` names; 0 if it names none. */
const lastPage = (link: string): number => Number(/<[^>]*[?&]page=(\d{1,9})[^>]*>; rel="last"/.exec(link)?.[1] ?? 0)

const usable = (etag: string | null) => (etag !== null && /^[!-~]{1,200}$/.test(etag) && etag !== HIDDEN ? etag : null)

/** Returns the cursor of what was seen. Without one of its names, the next observation finds a change. */
export function toCursor(seen: readonly Seen[]): string {
  const text = JSON.stringify(seen.map(({ route, parameters, etag }) => [route, parameters, etag]))
  // The name of a branch may have any characters.
  const printable = text.replaceAll(/[^ -~]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return printable.length <= MAX_CURSOR ? printable : '[]'
}

/** Returns what a cursor remembers; nothing if it is not one of ours. */
export function fromCursor(cursor: string): readonly Seen[] {
  try {
    const read: unknown = JSON.parse(cursor)
    if (!Array.isArray(read)) return []
    return read.map(([route, parameters, etag]): Seen => ({ route, parameters, etag }))
  } catch {
    return []
  }
}
