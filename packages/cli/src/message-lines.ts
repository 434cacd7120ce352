import type { Paint } from './output.ts'

/**
 * Returns the lines of an agent's message as a terminal shows Markdown: headings and strong words are bold, code has a colour,
 * and the marks that say so are gone. Everything else stays as it was written, and without colours everything does.
 */
export function messageLines(text: string, paint: Paint): string[] {
  const lines = text === '' ? [] : text.split('\n')
  if (paint('bold', 'x') === 'x') return lines
  let fence: string | null = null
  return lines.map(line => {
    const [, mark = null] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? []
    if (mark !== null && (fence === null || mark.startsWith(fence))) {
      fence = fence === null ? mark : null
      return paint('dim', line)
    }
    return fence === null ? proseLine(line, paint) : paint('cyan', line)
  })
}

function proseLine(line: string, paint: Paint): string {
  const [, heading] = /^#{1,6} +(.+?)(?: +#+)?$/.exec(line) ?? []
  if (heading !== undefined) return paint('bold', heading.replaceAll(/\*\*|`/g, ''))
  const [, space = '', rest] = /^(\s*)[-*+] (.+)$/.exec(line) ?? []
  return rest === undefined ? inline(line, paint) : `${space}• ${inline(rest, paint)}`
}

/** Code first: stars inside of it are its own. */
const inline = (text: string, paint: Paint): string =>
  text.replaceAll(/(`+)(.+?)\1(?!`)|\*\*(?=\S)(.+?\S|\S)\*\*/g, (_, ticks?: string, code?: string, strong?: string) =>
    ticks === undefined ? paint('bold', strong ?? '') : paint('cyan', code ?? ''),
  )
