import { nameMatcher, pathOf } from './named-paths.ts'

/** A sentence of a description that the revision does not bear out, with what is wrong about it. */
export interface Claim {
  readonly text: string
  /** The file that it says to be changed, and that is not; absent if it says that checks pass. */
  readonly path?: string
}

/** Returns why a claim is not borne out. */
export const claimFault = ({ path }: Claim): string =>
  path === undefined ? 'no verification of this revision has passed' : `this revision does not change ${path}`

/** What a description is held against. */
export interface ClaimFacts {
  readonly files: readonly { readonly path: string; readonly previousPath?: string }[]
  /** Whether a verification of exactly this revision has passed. */
  readonly verified: boolean
}

/** So much of a description is looked through. */
const MOST_CHARACTERS = 65_536

/**
 * Returns the sentences of a description that say more than the revision shows: that checks pass although none has been seen
 * to, or that a file was changed that the revision leaves as it was. Plans, conditions, questions and quotations are no claims:
 * a false alarm costs the next true one its reader.
 */
export function notBorneOut(description: string, { files, verified }: ClaimFacts): readonly Claim[] {
  const isChanged = (name: string) => {
    const isNamed = nameMatcher(new Set([name]))
    return files.some(({ path, previousPath = path }) => isNamed(path) || isNamed(previousPath))
  }
  return sentencesOf(description.slice(0, MOST_CHARACTERS)).flatMap(({ text, heading }): readonly Claim[] => {
    const claims: Claim[] = !verified && claimsChecks(text) ? [{ text }] : []
    const path = changedPath(text, heading)
    if (path !== undefined && !isChanged(path)) claims.push({ text, path })
    return claims
  })
}

interface Sentence {
  readonly text: string
  /** The line that the list or the section has above it. */
  readonly heading: string
}

/** Splits Markdown into sentences, without its blocks of code, quotations and open tasks. */
function sentencesOf(description: string): readonly Sentence[] {
  const sentences: Sentence[] = []
  let [fence, heading] = ['', '']
  for (const line of description.split(/\r?\n/)) {
    const [, mark = ''] = /^\s*(`{3,}|~{3,})/.exec(line) ?? []
    if (mark !== '') fence = fence === '' ? mark : mark.startsWith(fence) ? '' : fence
    if (mark !== '' || fence !== '' || /^\s*>|^(?: {4,}|\t+)(?![-*+] |\d+\. )/.test(line)) continue
    if (/^\s*#{1,6} |^\s*[^-*+\s].*:\s*$/.test(line)) heading = line
    if (/^\s*(?:[-*+]|\d+\.)\s+\[ \]/.test(line)) continue
    for (const text of line.replaceAll(/\*\*|__/g, '').split(/(?<=[^\d\s][.!?;])\s+/)) {
      if (text.trim() !== '') sentences.push({ text: text.trim(), heading })
    }
  }
  return sentences
}

const check =
  'tests?|suites?|specs|checks|CI|builds?|lint(?:er|ing)?|type[- ]?check(?:s|er|ing)?|pipelines?|pytest|tsc|eslint|biome|vitest|jest|clippy|npm (?:run )?\\w+|cargo \\w+|go (?:test|vet)'
const between = "(?:[^\\w.?!]+[\\w'’/-]+){0,4}?[^\\w.?!]+"
const passes = [
  `pass(?:es)?\\b(?!\\s+(?:an?|the|to|through|it|null|undefined|as|by|into|along|its|their|this|these|that)\\b|\\s+[\`"'])`,
  `(?:all |have |has |were |was )?passed\\b(?!\\s+(?:an?|the|to|through|it|as|by|into|along|via|on|in(?! CI))\\b)`,
  '(?:is|are|all|now|still) passing\\b',
  'succeed(?:s|ed)?\\b',
  '(?:is|are|all|now|still|stays?|remains?) (?:green|clean)\\b',
  '(?:comes? back|runs?) (?:green|clean)\\b',
]
const claims = [
  new RegExp(`\\b(?:${check})\\b${between}(?:${passes.join('|')})`, 'i'),
  /\bpass(?:es|ed|ing)? (?:all|every)(?: \w+){0,3} (?:tests?|checks|specs|suites?|CI)\b/i,
  /\b\d+(?:\/\d+)? (?:tests? |specs? |checks? )?(?:pass|passed|passing)\b(?!\s+(?:an?|the|to|through|as|by|in)\b)/i,
  /\b(?:everything|all)(?: is| are)? green\b/i,
  /\b(?:no|zero|0) (?:test |lint |type |build )?(?:failures|failing tests|failed tests|lint errors|type errors)\b/i,
  /\b(?:tests?|CI|lint|build|checks)\s?:?\s?(?:✅|✔️?|✓)\s*$/i,
]
/** Words in front of a claim that make it a wish, a condition, a rule or its opposite. */
const open =
  /\b(?:should|would|could|can|will|may|might|must|needs?|needed|to make|so|in order|make sure|ensures?|ensuring|until|once|when|whenever|while|if|unless|before|whether|wants?|expect(?:s|ed)?|let|lets|fail(?:s|ed|ing)?|not|never|cannot|longer|without|hopefully|please|requires?|required|blocks?|gates?|waits?|that|which|how|why|only|even though|despite|pretends?|says?|claims?|reports?|wrongly)\b|n['’]t\b/i

function claimsChecks(sentence: string): boolean {
  if (sentence.endsWith('?')) return false
  const plain = sentence.replaceAll('`', '')
  return claims.some(claim => {
    const match = claim.exec(plain)
    return (
      match !== null &&
      !open.test(
        plain
          .slice(0, match.index + match[0].length)
          .replace(/\b(?:I|we) (?:verified|confirmed|checked|made sure) that\b/i, ''),
      )
    )
  })
}

const verb =
  '(?:add|create|introduce|update|change|modify|edit|refactor|rewrite|rewrote|move|rename|remove|delete|replace|extend|simplify|implement)(?:e?s|e?d)?|modifie[sd]|simplifie[sd]|rewritten'
const span = '(?:`([^`\\s]+)`|\\[`?([^`\\]\\s]+)`?\\]\\([^)\\s]*\\)|((?:[\\w@+-][\\w.@+-]*/)+[\\w.@+-]*[\\w]))'
const item = /^\s*(?:[-*+]|\d+\.)\s+(?:\[x\]\s+)?/i
/** An object of the verb, or a place of it. What comes further behind is spoken of. */
const changes = new RegExp(
  `^(?:(?:I|we|it|this(?: \\w+)?)\\s+(?:also\\s+|now\\s+)?)?(?:${verb})\\s+(?:(?:the|a|an|new|file|module|script|both|existing|test|tests)\\s+){0,3}${span}`,
  'i',
)
const places = new RegExp(
  `^(?:(?:I|we|it|this(?: \\w+)?)\\s+(?:also\\s+|now\\s+)?)?(?:${verb})\\s+(?:[^\\s.\`/]+\\s+){1,8}?(?:in|into)\\s+(?:the\\s+|file\\s+){0,2}${span}`,
  'i',
)
const listed = new RegExp(`^${span}(?=\\s*(?:[:—–]|-\\s|\\(|$))`)
const unclaimed =
  /\b(?:not|no|never|without|unchanged|untouched|instead|rather|should|could|would|will|later|todo|already|if|when|see|related|reference|references|context|follow|next|future|left|skipped|unaffected|remaining|read|reviewed|looked)\b|n['’]t\b/i

/** Returns the file that a sentence says to be changed. */
function changedPath(sentence: string, heading: string): string | undefined {
  const text = sentence.replace(item, '')
  if (sentence.endsWith('?') || unclaimed.test(text)) return undefined
  const isItem = text !== sentence && !unclaimed.test(heading)
  const match = changes.exec(text) ?? places.exec(text) ?? (isItem ? listed.exec(text) : null)
  const name = match === null ? undefined : pathOf(match[1] ?? match[2] ?? match[3] ?? '')
  return name?.endsWith('/') === true ? undefined : name
}
