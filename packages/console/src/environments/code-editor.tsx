import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from '@codemirror/language'
import { json } from '@codemirror/legacy-modes/mode/javascript'
import { shell } from '@codemirror/legacy-modes/mode/shell'
import { Compartment, EditorState, Transaction } from '@codemirror/state'
import { drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useCallback, useEffect, useRef } from 'react'

const modes = { shell: StreamLanguage.define(shell), json: StreamLanguage.define(json) } as const

const theme = EditorView.theme({
  '&': { fontSize: '13px', color: 'var(--ink)', backgroundColor: 'var(--raised)', maxHeight: '28rem' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--font-mono)', lineHeight: '1.6', overflow: 'auto', minHeight: '9rem' },
  '.cm-content': { caretColor: 'var(--ink)', padding: '0.6rem 0' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--surface)', color: 'var(--ink-3)', border: 'none' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 28%, transparent)',
  },
})

const highlighting = HighlightStyle.define([
  { tag: tags.comment, color: 'var(--ink-3)', fontStyle: 'italic' },
  { tag: [tags.keyword, tags.operator], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warning)' },
  { tag: [tags.definition(tags.variableName), tags.propertyName, tags.attributeName], color: 'var(--bad)' },
])

/** The policy of the page lets in style elements that carry the nonce of its answer. */
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''

export interface CodeEditorProps {
  readonly id: string
  readonly label: string
  readonly describedBy: string
  readonly invalid: boolean
  readonly language: keyof typeof modes
  readonly value: string
  readonly readOnly?: boolean
  readonly onChange: (value: string) => void
}

/** An editor with the colours of a language. Tab leaves it, as it leaves any other field. */
export default function CodeEditor(props: CodeEditorProps) {
  const { id, label, describedBy, invalid, language, value, readOnly = false, onChange } = props
  const view = useRef<EditorView | null>(null)
  const attributes = useRef(new Compartment())
  const changed = useRef(onChange)
  useEffect(() => {
    changed.current = onChange
  })
  // A change from elsewhere, as by a reset of the form, is brought in; typed text is there already.
  useEffect(() => {
    const shown = view.current
    if (shown === null || shown.state.doc.toString() === value) return
    const changes = { from: 0, to: shown.state.doc.length, insert: value }
    shown.dispatch({ changes, annotations: Transaction.addToHistory.of(false) })
  }, [value])
  useEffect(() => {
    const described = EditorView.contentAttributes.of({
      id,
      'aria-label': label,
      'aria-describedby': describedBy,
      'aria-invalid': String(invalid),
    })
    view.current?.dispatch({ effects: attributes.current.reconfigure(described) })
  }, [id, label, describedBy, invalid])

  // It is made once; everything that changes later reaches it by the dispatches above.
  const mount = useCallback(
    (parent: HTMLDivElement) => {
      const made = new EditorView({
        parent,
        state: EditorState.create({
          extensions: [
            EditorView.cspNonce.of(nonce),
            lineNumbers(),
            history(),
            drawSelection(),
            EditorView.lineWrapping,
            EditorState.readOnly.of(readOnly),
            // Line endings are the document's: CRLF is shown as a warning, not mended behind the person's back.
            EditorState.lineSeparator.of('\n'),
            modes[language],
            theme,
            syntaxHighlighting(highlighting),
            keymap.of([...defaultKeymap, ...historyKeymap]),
            attributes.current.of([]),
            EditorView.updateListener.of(update => {
              if (update.docChanged) changed.current(update.state.doc.toString())
            }),
          ],
        }),
      })
      view.current = made
      return () => {
        view.current = null
        made.destroy()
      }
    },
    [language, readOnly],
  )
  return (
    <div
      ref={mount}
      className={`overflow-hidden rounded-md border focus-within:outline-2 focus-within:outline-accent ${invalid ? 'border-bad' : 'border-control'}`}
    />
  )
}
