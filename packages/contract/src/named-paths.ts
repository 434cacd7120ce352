/** So much of a text is looked through. */
const MOST_CHARACTERS = 65_536

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

/** Returns the files and folders that a text names, as it writes them; folders end in a slash. */
export function namedPaths(text: string): readonly string[] {
  const words = [...text.slice(0, MOST_CHARACTERS).replace(url, ' ').matchAll(candidate)]
  return [...new Set(words.flatMap(match => pathOf(match[1] ?? match[2] ?? '') ?? []))]
}

/** Returns whether one of the names means a path: the whole of it, its end, or a folder that it lies in. */
export const isNamed = (names: readonly string[], path: string): boolean =>
  names.some(name => {
    if (name.endsWith('/')) return `/${path}`.includes(`/${name}`)
    return name === path || path.endsWith(`/${name}`) || name.endsWith(`/${path}`)
  })
