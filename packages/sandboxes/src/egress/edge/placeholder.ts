import { createHmac } from 'node:crypto'

/** Credentials whose programs look at the beginning. A value that begins so, or whose name says so, has such a placeholder. */
const shapes: readonly { readonly prefix: string; readonly name?: RegExp }[] = [
  { prefix: 'github_pat_' },
  { prefix: 'ghp_', name: /^(GH|GITHUB)(_|$)/ },
  ...['gho_', 'ghu_', 'ghs_', 'ghr_'].map(prefix => ({ prefix })),
  { prefix: 'glpat-', name: /^GITLAB_/ },
  { prefix: 'npm_', name: /^(NPM|NODE_AUTH)_/ },
  { prefix: 'pypi-', name: /^(PYPI|TWINE)_/ },
  { prefix: 'sk-ant-', name: /^ANTHROPIC_/ },
  { prefix: 'sk-proj-' },
  { prefix: 'sk-', name: /^OPENAI_/ },
  ...['xoxb-', 'xoxp-', 'xapp-'].map(prefix => ({ prefix, ...(prefix === 'xoxb-' && { name: /^SLACK_/ }) })),
  ...['sk_test_', 'sk_live_', 'rk_live_'].map(prefix => ({
    prefix,
    ...(prefix === 'sk_test_' && { name: /^STRIPE_/ }),
  })),
  ...['AKIA', 'ASIA'].map(prefix => ({ prefix })),
  { prefix: 'AIza' },
  { prefix: 'hf_', name: /^(HF|HUGGING_?FACE)_/ },
  { prefix: 'lin_api_', name: /^LINEAR_/ },
  { prefix: 'dop_v1_' },
  { prefix: 'eyJ' },
]
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
/** 22 characters of 62 are 131 bits. */
const LEAST = 22
/** A longer value is told apart by nobody's length check. */
const MOST = 128

/**
 * Returns what a sandbox has in place of a secret: like the value in its beginning and its length, so that programs that
 * look at these accept it, and random in all the rest.
 * @param seed 32 bytes that nobody else has, of this secret in this lease
 */
export function placeholderOf(seed: Uint8Array, name: string, value: string): string {
  const prefix =
    shapes.find(shape => value.startsWith(shape.prefix))?.prefix ??
    shapes.find(shape => shape.name?.test(name) === true)?.prefix ??
    ''
  const length = Math.max(LEAST, Math.min(value.length, MOST) - prefix.length)
  return prefix + randomText(seed, length)
}

/** Returns characters that the seed decides, each of them as likely as any other. */
function randomText(seed: Uint8Array, length: number): string {
  let text = ''
  for (let block = 0; text.length < length; block += 1) {
    for (const byte of createHmac('sha256', seed).update(`placeholder/${block}`).digest()) {
      // 248 is the last multiple of 62 below 256.
      if (byte < 248 && text.length < length) text += ALPHABET[byte % 62] ?? ''
    }
  }
  return text
}
