import type { StreamParser } from '@codemirror/language'

interface State {
  /** The mark that ends the block of code, if one is open. */
  fence: string | null
}

const marks: readonly (readonly [RegExp, string])[] = [
  [/^`+[^`]+`+/, 'string'],
  [/^!?\[[^\]]*\]\([^)]*\)/, 'link'],
  [/^(?:https?:\/\/|<)[^\s>]+>?/, 'link'],
  [/^(\*\*|__)(?=\S).+?\1/, 'property'],
  [/^<!--.*?-->/, 'comment'],
]

/** The colours of Markdown, line by line: headings, lists, quotations, code, links and what is bold. */
export const markdown: StreamParser<State> = {
  startState: () => ({ fence: null }),
  token(stream, state) {
    if (stream.sol()) {
      const fence = stream.match(/^\s*(`{3,}|~{3,})/, false)
      if (Array.isArray(fence)) {
        const [, mark = ''] = fence
        if (state.fence === null) state.fence = mark
        else if (mark.startsWith(state.fence)) state.fence = null
        stream.skipToEnd()
        return 'string'
      }
      if (state.fence === null) {
        if (stream.match(/^#{1,6}\s.*/)) return 'keyword'
        if (stream.match(/^\s*>.*/)) return 'comment'
        if (stream.match(/^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s)?/)) return 'number'
      }
    }
    if (state.fence !== null) {
      stream.skipToEnd()
      return 'string'
    }
    for (const [mark, style] of marks) if (stream.match(mark)) return style
    stream.next()
    stream.match(/^[^`![<*_h]+/)
    return null
  },
}
