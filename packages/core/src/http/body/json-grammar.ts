/** The state that follows each byte, by sets of bytes. */
type Row = Readonly<Record<string, string>>

const spaces = ' \t\n\r'
const digits = '0123456789'
const hex = `${digits}abcdefABCDEF`

const value: Row = {
  [spaces]: 'value',
  '"': 'text',
  '-': 'sign',
  '0': 'zero',
  '123456789': 'integer 1',
  t: 't',
  f: 'f',
  n: 'n',
  '{': '{',
  '[': '[',
}
const behind: Row = { [spaces]: 'behind', ',': ',', '}': '}', ']': ']' }
/** JavaScript holds a number of as many characters, if its exponent has two digits. */
const heldCharacters = 15

/** Numbers as long as that, character by character; the next one is the mark of a long number. */
const heldNumbers = Object.fromEntries(
  Array.from({ length: heldCharacters }, (_, at) => at + 1).flatMap((length): [string, Row][] => {
    const next = (name: string, long: string) => (length < heldCharacters ? `${name} ${length + 1}` : long)
    const point = length < heldCharacters ? `point ${length + 1}` : 'point'
    return [
      [`integer ${length}`, { ...behind, '.': point, eE: 'e', [digits]: next('integer', 'longInteger') }],
      [`point ${length}`, { [digits]: next('fraction', 'longFraction') }],
      [`fraction ${length}`, { ...behind, [digits]: next('fraction', 'longFraction'), eE: 'e' }],
    ]
  }),
)

const literal = (text: string): Readonly<Record<string, Row>> =>
  Object.fromEntries(
    [...text.slice(1)].map((letter, at) => [
      text.slice(0, at + 1),
      { [letter]: at + 2 === text.length ? 'behind' : text.slice(0, at + 2) },
    ]),
  )

const textOf = (name: string, end: string): Readonly<Record<string, Row>> => ({
  [name]: {
    ...Object.fromEntries(Array.from({ length: 256 - 32 }, (_, at) => [String.fromCharCode(32 + at), name])),
    '"': end,
    '\\': `${name} \\`,
  },
  [`${name} \\`]: { '"\\/bfnrt': name, u: `${name} u` },
  [`${name} u`]: { [hex]: `${name} u1` },
  [`${name} u1`]: { [hex]: `${name} u2` },
  [`${name} u2`]: { [hex]: `${name} u3` },
  [`${name} u3`]: { [hex]: name },
})

/** The grammar of RFC 8259 without its nesting, after a byte order mark that decoders drop. */
const rows: Readonly<Record<string, Row>> = {
  start: { ...value, '\u00ef': 'mark' },
  mark: { '\u00bb': 'mark2' },
  mark2: { '\u00bf': 'value' },
  value,
  item: { ...value, [spaces]: 'item', ']': ']' },
  name: { [spaces]: 'name', '"': 'key', '}': '}' },
  nextName: { [spaces]: 'nextName', '"': 'key' },
  colon: { [spaces]: 'colon', ':': 'value' },
  behind,
  ...textOf('text', 'behind'),
  ...textOf('key', 'colon'),
  ...literal('true'),
  ...literal('false'),
  ...literal('null'),
  sign: { '0': 'zero', '123456789': 'integer 1' },
  zero: { ...behind, '.': 'point 2', eE: 'e' },
  ...heldNumbers,
  integer: { ...behind, '.': 'point', eE: 'e', [digits]: 'integer' },
  point: { [digits]: 'longFraction' },
  fraction: { ...behind, [digits]: 'fraction', eE: 'e' },
  e: { '+-': 'exponentSign', [digits]: 'exponent 1' },
  exponentSign: { [digits]: 'exponent 1' },
  'exponent 1': { ...behind, [digits]: 'exponent 2' },
  'exponent 2': { ...behind, [digits]: 'longExponent' },
  exponent: { ...behind, [digits]: 'exponent' },
}

/**
 * Bytes that open, close or part values: what follows them depends on the values that are open. Behind them those that
 * make a number longer than JavaScript holds.
 */
const marks = ['{', '[', '}', ']', ',', 'longInteger', 'longFraction', 'longExponent'] as const

/** The state of a text that is no JSON, however it goes on. */
const names = ['broken', ...Object.keys(rows), ...marks]

/** Returns the number of a state or a mark. */
export const stateOf = (name: string): number => names.indexOf(name)

/** The first number that is no state, but a mark. */
export const firstMark = stateOf(marks[0])

/** The states that follow each state, a row of 256 bytes each. */
export const transitions = new Uint8Array(firstMark << 8)
for (const [name, row] of Object.entries(rows)) {
  for (const [bytes, next] of Object.entries(row)) {
    for (const byte of bytes) transitions[(stateOf(name) << 8) | byte.charCodeAt(0)] = stateOf(next)
  }
}

/** The states in which a value may be at its end. */
export const endings: ReadonlySet<number> = new Set(
  Object.entries(rows).flatMap(([name, row]) => (row[','] === ',' && name !== 'key' ? [stateOf(name)] : [])),
)
