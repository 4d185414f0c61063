/** Quotes words for messages, and compares names. */
#include "base/words.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int sp_control(const char *text)
{
    const unsigned char *const p = (const unsigned char *)text;
    if (p[0] == 0xC2 && p[1] >= 0x80 && p[1] < 0xA0) return 2;
    return p[0] != '\0' && (p[0] < ' ' || p[0] == 0x7f);
}

/** Returns 1 if a message can show the text without quotation marks. */
static int plain(const char *text)
{
    for (const char *p = text; *p; p++)
        if (sp_control(p) || *p == ' ' || *p == '"' || *p == '\\') return 0;
    return *text != '\0';
}

const char *sp_shown(char *buf, size_t n, const char *text)
{
    /* the rest is reserved for the longest possible ending */
    const size_t room = n - sizeof "\\x00\\x00\"...";
    size_t used = 0;
    if (plain(text)) {
        if (snprintf(buf, n, "%s", text) >= (int)n) memcpy(buf + n - 4, "...", 4);
        return buf;
    }
    buf[used++] = '"';
    for (; *text && used < room; text++) {
        const int bytes = sp_control(text);
        for (int i = 0; i < bytes; i++)
            used += (size_t)snprintf(buf + used, n - used, "\\x%02X", (unsigned char)text[i]);
        if (bytes == 2) text++;
        if (bytes > 0) continue;
        if (*text == '"' || *text == '\\') buf[used++] = '\\';
        buf[used++] = *text;
    }
    snprintf(buf + used, n - used, "\"%s", *text ? "..." : "");
    return buf;
}

void sp_text_add(char *text, size_t n, size_t *used, const char *format, ...)
{
    va_list arguments;
    if (*used >= n) return;
    va_start(arguments, format);
    *used += (size_t)vsnprintf(text + *used, n - *used, format, arguments);
    va_end(arguments);
}

int sp_same_name(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, "-_");
        b += strspn(b, "-_");
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return 0;
        if (!*a) return 1;
    }
}
