import { closedMarkdown } from './closed-markdown.ts'

const BEGIN = '<!-- berth:evidence -->'
const END = '<!-- /berth:evidence -->'

/** Returns the description of a pull request without the sections that Publications have put into it. */
export function withoutSection(body: string): string {
  let kept = ''
  let at = 0
  for (;;) {
    const begin = body.indexOf(BEGIN, at)
    const end = begin < 0 ? -1 : body.indexOf(END, begin)
    if (end < 0) return kept === '' && at === 0 ? body : (kept + body.slice(at)).trimEnd()
    kept += `${body.slice(at, begin).trimEnd()}\n`
    at = end + END.length
  }
}

/** Returns the description with a section at its end, in place of any before; '' leaves it without one. */
export function withSection(body: string, section: string): string {
  const own = withoutSection(body)
  if (section === '') return own
  const before = own.trim() === '' ? '' : `${closedMarkdown(own.trimEnd())}\n\n`
  return `${before}${BEGIN}\n\n${section}\n\n${END}`
}
