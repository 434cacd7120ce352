/**
 * The script that runs before an artifact's own. No policy of today's browsers covers WebRTC, which sends packets to any
 * address, so its constructors go. A scripted frame inside would bring them back, with `srcdoc` as the only way to one
 * that the policy leaves: scripts may neither set it nor write markup that names it, in pieces or not, and XSLT, which
 * makes markup without asking, goes as well. Markup in the file itself is the caller's to look at, with `namesFrames`. The
 * artifact's scripts can change every prototype, so nothing is looked up later.
 */
const PRELUDE = `<!doctype html><script>(() => {
  for (const name of Object.getOwnPropertyNames(window)) if (/^(?:webkit|moz)?RTC|^XSLT/.test(name)) delete window[name]
  if (!window.trustedTypes) {
    document.write('<p>This browser cannot keep scripts in a sandbox. Update it, or download the file.<plaintext hidden>')
    return
  }
  const method = own => Function.prototype.call.bind(own)
  const lower = method(String.prototype.toLowerCase)
  const includes = method(String.prototype.includes)
  const slice = method(String.prototype.slice)
  const Refusal = TypeError
  let written = ''
  trustedTypes.createPolicy('default', {
    createHTML: (text, type, sink) => {
      const whole = lower(written + text)
      if (includes(whole, 'srcdoc') || includes(lower(sink), 'srcdoc')) throw new Refusal('Frames with a document of their own are not shown here')
      written = slice(whole, -5)
      return text
    },
    createScript: text => text,
    createScriptURL: text => text,
  })
})()</script>
`

/** Yields HTML behind the script that guards it. A doctype of its own is ignored behind ours. */
export async function* guardedHtml(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield Buffer.from(PRELUDE)
  yield* content
}

const ATTRIBUTE = 'srcdoc'

/** Returns true if HTML names frames that hold a document themselves, in markup or anywhere else. */
export async function namesFrames(content: AsyncIterable<Uint8Array>): Promise<boolean> {
  let end = ''
  for await (const piece of content) {
    const text = end + Buffer.from(piece).toString('latin1').toLowerCase()
    if (text.includes(ATTRIBUTE)) return true
    end = text.slice(1 - ATTRIBUTE.length)
  }
  return false
}
