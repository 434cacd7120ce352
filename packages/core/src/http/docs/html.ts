/** Markup that is safe to place in a page. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Piece = Html | string | number | readonly Piece[] | null | undefined | false

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escaped = (text: string) => text.replaceAll(/[&<>"']/g, character => entities[character] ?? character)

function render(piece: Piece): string {
  if (piece === null || piece === undefined || piece === false) return ''
  if (piece instanceof Html) return piece.text
  if (typeof piece === 'string' || typeof piece === 'number') return escaped(String(piece))
  return piece.map(render).join('')
}

/** Builds markup. Every value is escaped unless it is markup itself. */
export const html = (literals: TemplateStringsArray, ...values: readonly Piece[]): Html =>
  new Html(literals.map((literal, index) => literal + render(values[index])).join(''))

/** Renders prose of the contract: backticks become code, blank lines separate paragraphs. */
export const prose = (text: string): Html =>
  html`${text.split('\n\n').map(paragraph => html`<p>${inline(paragraph)}</p>`)}`

/** Renders one line of prose. */
export const inline = (text: string): Html =>
  html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`
