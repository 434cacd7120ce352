import { gatewayLimits, limits, type OperationId, operationOf } from '@berth/contract'

/** A function that makes a body, so that the body takes memory only while it is sent. */
export interface BadBody {
  readonly name: string
  /** Kind of the provider whose model the body asks for; null at the API. */
  readonly kind: Kind | null
  make(): Buffer
}

type Kind = 'openai' | 'anthropic' | 'google'

/** JSON text of a value. The `unit` repeats to fill it up to any size. */
interface BadValue {
  readonly head: string
  readonly unit: string
  readonly tail: string
}

const text = (unit: string, before = '', after = ''): BadValue => ({ head: `${before}"`, unit, tail: `"${after}` })
const padded = (head: string, tail: string): BadValue => ({ head, unit: ' ', tail })
const wide = (item: string, count: number) => padded(`[${`${item},`.repeat(count - 1)}${item}`, ']')
const deep = (levels: number) => padded('['.repeat(levels), ']'.repeat(levels))
const members = (count: number) =>
  padded(`{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join()}`, '}')

/** As many as fit, far more than a body may hold. */
const wideBeyond = (): BadValue => ({ head: '[', unit: '{},', tail: '{}]' })

/** Just below the limit of values in a body, because the members beside the bad one hold values too. */
const [apiValues, gatewayValues] = [19_900, 199_000]

const values: Readonly<Record<string, () => BadValue>> = {
  'wrong items': () => wide('{}', apiValues),
  'wrong items beyond the limit': wideBeyond,
  'right items': () => wide('"a"', apiValues),
  members: () => members(apiValues),
  levels: () => deep(apiValues),
  digits: () => ({ head: '', unit: '9', tail: '9' }),
  'escaped quotes': () => text('\\"'),
  'escaped nulls': () => text('\\u0000'),
  'text of several bytes': () => text('😀'),
}

/** JSON text of an object in which one member takes all bytes that the others leave. */
function filled(others: object, member: string, { head, unit, tail }: BadValue, bytes: number): Buffer {
  const before = JSON.stringify({ ...others, [member]: undefined }).slice(0, -1)
  const start = Buffer.from(`${before}${before === '{' ? '' : ','}"${member}":${head}`)
  const end = Buffer.from(`${tail}}`)
  const room = bytes - start.length - end.length
  return Buffer.concat([start, Buffer.alloc(room - (room % Buffer.byteLength(unit)), unit), end])
}

/**
 * Bodies in which each member of the operation in turn, or an unknown member, is as wide, deep or long as the API
 * allows.
 */
export function badApiBodies(operation: OperationId, valid: object): readonly BadBody[] {
  const names = [...Object.keys(operationOf(operation).body?.properties ?? {}), 'unknown']
  return names.flatMap(member =>
    Object.entries(values).map(([name, value]) => ({
      name: `${member}: ${name}`,
      kind: null,
      make: () => filled(valid, member, value(), limits.bodyBytes),
    })),
  )
}

/** A body of the gateway's largest size. */
const large = (kind: Kind, name: string, others: object, member: string, value: () => BadValue): BadBody => ({
  name: `${kind}, ${name}`,
  kind,
  make: () => filled(others, member, value(), gatewayLimits.bodyBytes),
})

const message = (unit: string) => text(unit, '[{"role":"user","content":', '}]')
const parts = (unit: string) => text(unit, '[{"parts":[{"text":', '}]}]')
const turns = () => wide('{"role":"user","content":"a"}', gatewayValues / 3)
const asking = (kind: Kind) => ({ model: `${kind}/m`, max_tokens: 1, messages: [{ role: 'user', content: 'a' }] })
const responding = (kind: Kind) => ({ model: `${kind}/m`, input: 'a' })

/**
 * Few for each operation, because each takes the machine a second. Models of a kind other than the dialect's are
 * translated.
 */
export const badGatewayBodies = {
  createChatCompletion: [
    large('openai', 'escaped quotes', asking('openai'), 'messages', () => message('\\"')),
    large('openai', 'wrong items', asking('openai'), 'stop', () => wide('{}', gatewayValues)),
    large('openai', 'wrong items beyond the limit', asking('openai'), 'stop', wideBeyond),
    large('openai', 'tools', asking('openai'), 'tools', () => wide('{"type":"function"}', gatewayValues / 2)),
    large('anthropic', 'text of several bytes', asking('anthropic'), 'messages', () => message('😀')),
  ],
  createResponse: [
    large('openai', 'members', responding('openai'), 'prompt', () => members(gatewayValues)),
    large('google', 'escaped quotes', responding('google'), 'input', () => text('\\"')),
  ],
  createMessage: [large('anthropic', 'turns', asking('anthropic'), 'messages', turns)],
  countMessageTokens: [large('anthropic', 'levels', asking('anthropic'), 'system', () => deep(gatewayValues))],
  generateContent: [large('google', 'escaped quotes', {}, 'contents', () => parts('\\"'))],
  streamGenerateContent: [large('google', 'members', { contents: [{}] }, 'labels', () => members(gatewayValues))],
  countContentTokens: [large('google', 'text of several bytes', {}, 'contents', () => parts('😀'))],
} as const satisfies Partial<Record<OperationId, readonly BadBody[]>>
