/** So much of a text is looked through. */
const MOST_CHARACTERS = 65_536
/** So many different names are looked for, in paths of any change. */
const MOST_NAMES = 1000
/** So many folders in a row are looked for. */
const MOST_FOLDERS = 20

const url = /\b\w{2,10}:\/\/\S{1,2000}/g
/** A span of code, a path with a folder and an ending, or a folder that ends in a slash. */
const candidate =
  /`([^`\s]{1,300})`|(?<![\w/.@+-])((?:\.\/)?(?:[\w@+-][\w.@+-]{0,100}\/){1,20}(?:[\w.@+-]{1,100}\.\w{1,12})?)(?![\w/])/g
const path = /^[\w@+.][\w@+./-]{0,299}$/
/** Endings of files that people name. A member of an object, `user.name`, has none of them. */
const file =
  /(?:^|\/)(?:Makefile|Dockerfile|Containerfile|Jenkinsfile|Gemfile|[\w.@+-]{0,100}\.(?:[cm]?[jt]sx?|json[c5]?|mdx?|txt|rst|pyi?|go|rs|java|kts?|scala|gradle|[ch]|cc|cpp|hpp|cs|rb|erb|php|swift|exs?|erl|hs|lua|p[lm]|r|dart|vue|svelte|astro|html?|s?css|sass|less|sql|ba?sh|zsh|ps1|ya?ml|toml|ini|cfg|conf|env|lock|xml|svg|proto|graphql|tf|hcl|nix|prisma|ipynb|csv|png|jpe?g))$/i
/** Names of projects that look like files. */
const project = /^(?:node|next|vue|nuxt|three|d3|express|react|socket|asp)\.(?:js|io|net)$/i

/** Returns the path that a word names, a folder with a slash at its end; undefined if it names none. */
export function pathOf(word: string): string | undefined {
  const name = word.replace(/^(?:\/workspace\/project\/|(?:\.\/)+)/, '').replace(/:\d[\d:-]*$/, '')
  if (!path.test(name) || project.test(name)) return undefined
  return (name.endsWith('/') && name.length > 2) || file.test(name) ? name : undefined
}

/** Yields the files and folders that a text names, as it writes them; folders end in a slash. */
function* namedPaths(text: string): Generator<string> {
  for (const match of text.slice(0, MOST_CHARACTERS).replace(url, ' ').matchAll(candidate)) {
    const name = pathOf(match[1] ?? match[2] ?? '')
    if (name !== undefined) yield name
  }
}

/** Returns what tells whether texts name a path, by a thousand names at most; null if the first text names nothing. */
export function readNames([first = '', ...later]: readonly string[]): ((path: string) => boolean) | null {
  const names = new Set<string>()
  for (const text of [first, ...later]) {
    for (const name of namedPaths(text)) if (names.size < MOST_NAMES) names.add(name)
    if (names.size === 0) return null
    if (names.size >= MOST_NAMES) break
  }
  return nameMatcher(names)
}

/**
 * Returns what tells whether one of the names means a path: the whole of it, its end, or a folder that it lies in. A path
 * takes time in proportion to its folders, however many names there are.
 */
export function nameMatcher(names: ReadonlySet<string>): (path: string) => boolean {
  // A name may begin above the project.
  const ends = new Set([...names].flatMap(name => (name.endsWith('/') ? [] : startsOf(name).map(at => name.slice(at)))))
  return path => {
    if (ends.has(path)) return true
    const starts = startsOf(path)
    return starts.some((start, at) => {
      const folders = starts.slice(at + 1, at + 1 + MOST_FOLDERS)
      return names.has(path.slice(start)) || folders.some(end => names.has(path.slice(start, end)))
    })
  }
}

/** Returns where the parts of a path begin. */
const startsOf = (path: string): readonly number[] => [0, ...[...path.matchAll(/\//g)].map(({ index }) => index + 1)]
