import { type ClipboardEvent, type DragEvent, useRef, useState } from 'react'
import type { Attachment } from './attachments.ts'

/**
 * Keeps the files that go with a message, as people drop, paste and choose them.
 * @param message counts too, because it goes in the same request
 * @param onChange is called with each change
 */
export function useAttachments(message: string, onChange: () => void) {
  const [attachments, setAttachments] = useState<readonly Attachment[]>([])
  const [refused, setRefused] = useState<string | null>(null)
  const [dropping, setDropping] = useState(false)
  const latest = useRef(attachments)
  latest.current = attachments
  const add = async (files: readonly File[]) => {
    const { attach } = await import('./attachments.ts')
    const { attachments: after, refused: word } = attach(latest.current, files, message)
    latest.current = after
    setAttachments(after)
    setRefused(word)
    onChange()
  }
  const onDrag = (event: DragEvent) => {
    if (!event.dataTransfer.types.includes('Files')) return
    event.preventDefault()
    setDropping(event.type === 'dragover')
    if (event.type === 'drop') void add([...event.dataTransfer.files])
  }
  return {
    attachments,
    /** Says which files did not fit. */
    refused,
    dropping,
    add,
    remove: (name: string) => {
      setAttachments(attachments.filter(attachment => attachment.name !== name))
      setRefused(null)
      onChange()
    },
    /** Forgets the files of a message that is sent; those that came meanwhile stay. */
    forget: (sent: readonly Attachment[]) => {
      setAttachments(now => now.filter(attachment => !sent.includes(attachment)))
      setRefused(null)
    },
    drag: { onDragOver: onDrag, onDragLeave: onDrag, onDrop: onDrag },
    onPaste: (event: ClipboardEvent) => {
      const files = [...event.clipboardData.files]
      if (files.length === 0) return
      event.preventDefault()
      void add(files)
    },
  }
}

/** Returns a message with dictated text after it. */
export const withSpoken = (message: string, spoken: string): string =>
  message.trim() === '' ? spoken : `${message.trimEnd()} ${spoken}`
