import { gfmFromMarkdown } from 'mdast-util-gfm'
import { gfm } from 'micromark-extension-gfm'

interface Parsing {
  data(): { micromarkExtensions?: unknown[]; fromMarkdownExtensions?: unknown[] }
}

/**
 * Lets a processor read GitHub's Markdown: tables, task lists, footnotes, deleted text and bare links. `remark-gfm` also
 * writes it, and that half weighs 6 KB in the page.
 */
export function readGfm(this: unknown): void {
  const data = (this as Parsing).data()
  data.micromarkExtensions = [...(data.micromarkExtensions ?? []), gfm()]
  data.fromMarkdownExtensions = [...(data.fromMarkdownExtensions ?? []), gfmFromMarkdown()]
}
