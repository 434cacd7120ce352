import { limits } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { browserFetch, toBerthError } from '../api/client.ts'

/** The formats that the service accepts, the best first; Safari records MP4. */
const types = ['audio/webm;codecs=opus', 'audio/webm', 'audio/mp4', 'audio/ogg']

/** Returns the text of a recording. */
async function transcribe({ audio, durationMs }: { audio: Blob; durationMs: number }): Promise<string> {
  const form = new FormData()
  form.append('file', audio, audio.type.startsWith('audio/mp4') ? 'speech.m4a' : 'speech.webm')
  form.append('durationMs', String(durationMs))
  const response = await browserFetch('/cloud/v1/transcriptions', { method: 'POST', body: form })
  if (!response.ok) throw await toBerthError(response)
  return ((await response.json()) as { readonly text: string }).text
}

/** Records speech and hands over its text. Leaving the page ends a recording, which is still transcribed. */
export function useRecorder(onText: (text: string) => void) {
  const [recording, setRecording] = useState(false)
  const [refused, setRefused] = useState(false)
  const asking = useRef(false)
  const current = useRef<MediaRecorder | null>(null)
  const isLeft = useRef(false)
  const transcription = useMutation({ mutationFn: transcribe, onSuccess: onText })
  useEffect(() => {
    isLeft.current = false
    return () => {
      isLeft.current = true
      current.current?.stop()
    }
  }, [])

  const record = (stream: MediaStream) => {
    const mimeType = types.find(type => MediaRecorder.isTypeSupported(type))
    const recorder = new MediaRecorder(stream, mimeType === undefined ? {} : { mimeType })
    const parts: Blob[] = []
    const startedAt = performance.now()
    const timer = setTimeout(() => recorder.stop(), limits.audioMs.most - 500)
    recorder.addEventListener('dataavailable', ({ data }) => parts.push(data))
    recorder.addEventListener('stop', () => {
      clearTimeout(timer)
      current.current = null
      for (const track of stream.getTracks()) track.stop()
      setRecording(false)
      const durationMs = Math.round(performance.now() - startedAt)
      if (durationMs >= limits.audioMs.least)
        transcription.mutate({ audio: new Blob(parts, { type: recorder.mimeType }), durationMs })
    })
    recorder.start()
    current.current = recorder
    setRecording(true)
  }
  const start = async () => {
    if (asking.current) return
    asking.current = true
    transcription.reset()
    setRefused(false)
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true })
      // The browser may ask for as long as it likes, and the person may have left meanwhile.
      if (isLeft.current) for (const track of stream.getTracks()) track.stop()
      else record(stream)
    } catch {
      setRefused(true)
    } finally {
      asking.current = false
    }
  }
  return {
    recording,
    busy: transcription.isPending,
    error: transcription.error,
    refused,
    toggle: () => (current.current === null ? void start() : current.current.stop()),
  }
}
