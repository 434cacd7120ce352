import MiniSearch from 'minisearch'

/** Words that people use, and those of the pages. Each stands for the others. */
const groups = [
  ['forgot', 'forgotten', 'lost', 'reset'],
  ['stop', 'cancel', 'abort', 'interrupt'],
  ['add', 'configure', 'connect', 'create', 'register'],
  ['delete', 'remove', 'revoke', 'archive'],
  ['cost', 'budget', 'limit', 'spend', 'bound'],
  ['key', 'token', 'credential'],
  ['invite', 'invitation'],
  ['member', 'person', 'people', 'user', 'team'],
  ['model', 'provider', 'llm'],
  ['shortcut', 'shortcuts', 'keyboard'],
  ['approve', 'approval', 'approvals', 'allow'],
  ['automatically', 'automatic', 'policy', 'rule', 'rules'],
  ['live', 'lifetime', 'lapse', 'lapses', 'lease'],
  ['sandbox', 'workspace', 'lease', 'leases'],
  ['login', 'signin', 'sign'],
  ['env', 'environment', 'variable'],
  ['pr', 'pull', 'merge', 'publish'],
  ['repo', 'repository', 'git'],
  ['install', 'setup', 'deploy'],
  ['upgrade', 'update', 'version'],
  ['backup', 'restore'],
  ['slow', 'performance', 'benchmarks'],
  ['error', 'fails', 'failure', 'troubleshooting'],
  ['schedule', 'cron', 'trigger'],
  ['vpn', 'proxy', 'network', 'egress'],
  ['sso', 'oidc', 'identity'],
]

const synonyms = new Map()
for (const group of groups) {
  for (const word of group)
    synonyms.set(word, [...(synonyms.get(word) ?? []), ...group.filter(other => other !== word)])
}

/** Words that say nothing of the subject. */
const empty = new Set(
  'a an and are at by can do does for from how i in is it long my of on or the to what when where which who why with'.split(
    ' ',
  ),
)

/** Returns the index of the sections of `search.json`. */
export function indexOf(sections) {
  const index = new MiniSearch({
    fields: ['heading', 'page', 'text'],
    storeFields: ['heading', 'page', 'place', 'text'],
    // Names of settings and Events are found whole, and by their parts.
    tokenize: text =>
      text.split(/[^\p{L}\p{N}_]+/u).flatMap(word => [word, ...(word.includes('_') ? word.split('_') : [])]),
    searchOptions: {
      boost: { heading: 5, page: 5 },
      fuzzy: term => (term.length > 5 ? 0.15 : false),
      boostDocument: (_id, _term, { place }) => weightOf(place),
    },
  })
  index.addAll(sections)
  return index
}

/** Guides come before references, those before pages for people who change Berth, and decision records last. */
function weightOf(place) {
  const isInside = /^(?:repository|internals)\/|^(?:benchmarks|crash-points)\./.test(place)
  const isReference = /^(?:events|errors|settings|cli-reference)\./.test(place)
  const kind = place.startsWith('decisions/') ? 0.04 : isInside ? 0.2 : isReference ? 0.6 : 1
  return kind * (place.includes('#') ? 1 : 1.6)
}

/**
 * Returns sections, the best first: those with every word, or with another word for it, before those with any.
 * @param {string} text
 */
export function find(index, text) {
  const typed = text
    .toLowerCase()
    .split(/[^\p{L}\p{N}_.-]+/u)
    .filter(Boolean)
  const named = typed.filter(word => !empty.has(word))
  const words = named.length === 0 ? typed : named
  if (words.length === 0) return []
  const last = words.at(-1)
  const queries = words.map(word => ({
    combineWith: 'OR',
    queries: [
      // Only the last word may be typed half.
      { queries: [word], prefix: word === last || word.length > 3 },
      ...(synonyms.get(word) ?? []).map(other => ({
        queries: [other],
        prefix: false,
        fuzzy: false,
        boost: { heading: 2, page: 2, text: 0.4 },
      })),
    ],
  }))
  const all = index.search({ combineWith: 'AND', queries })
  const seen = new Set(all.map(({ id }) => id))
  const some = words.length === 1 ? [] : index.search({ combineWith: 'OR', queries })
  return [...all, ...some.filter(({ id }) => !seen.has(id))]
}
