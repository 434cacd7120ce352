import { printable } from '../ui/printable.ts'

/** The members in use of a node of the tree that Markdown becomes. */
interface Node {
  readonly type: string
  readonly tagName?: string
  readonly children?: readonly Node[]
  properties?: Record<string, unknown>
  value?: string
}

/** Elements whose text decides in which direction it is read. */
const blocks = /^(?:p|li|ul|ol|h\d|t[dh]|blockquote)$/

/** Characters that embed, override or isolate a direction, and so show text in another order than it has. */
const turns = /[\u202a-\u202e\u2066-\u2069]+/g

/** Gives each block the direction of its own text, keeps code from left to right, and marks characters that turn text around. */
export function readBothWays() {
  return (tree: Node): void => visit(tree, false)
}

function visit(node: Node, inCode: boolean): void {
  const isCode = node.tagName === 'code' || node.tagName === 'pre'
  const dir = isCode ? 'ltr' : blocks.test(node.tagName ?? '') ? 'auto' : undefined
  if (dir !== undefined) node.properties = { ...node.properties, dir }
  if (node.value !== undefined) node.value = inCode ? printable(node.value) : node.value.replace(turns, printable)
  for (const child of node.children ?? []) visit(child, inCode || isCode)
}
